"""Write files so that written data is never lost.

A line is appended completely or not at all, and a file is replaced completely or not at all. A disk
error becomes one sentence.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor

from harness.errors import JournalError
from harness.journal import run_files

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
"""The errors raised by file systems that have no locks; on them, two runs that write to one folder
go undetected."""

_HELD = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""The errors of a file that cannot be replaced, but perhaps written: in a sandbox, only the file
itself is writable."""

IsWhole = Callable[[bytes], bool]


class Appended:
    """A file to which only this process appends, in whole lines. Safe to use from any thread.

    `is_whole`: a function that tells whether a last line without its newline is complete; an
    incomplete line is cut off. Raises JournalError if another process is writing, and for any disk
    error. After an error no more lines are accepted, so a torn line never ends up in the middle. If
    another process writes anyway, as the code of a measured function could, this is detected when
    the next line is appended or the file is closed.
    """

    def __init__(self, path: Path, is_whole: IsWhole) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._broken = ""
        self._in_flight = 0  # bytes of a line whose writing an interrupt may have cut short
        try:
            self._file = run_files.append_to(path)
        except OSError as error:
            raise self._refused("cannot be opened", error) from None
        try:
            self._alone()
            self._mend(is_whole)
            self._length = os.fstat(self._file).st_size
        except OSError as error:
            os.close(self._file)
            raise self._refused("cannot be written", error) from None
        except JournalError:
            os.close(self._file)
            raise

    def append(self, line: str) -> None:
        with self._lock:
            if self._broken:
                raise JournalError(self._broken)
            self._check_length()
            content = f"{line}\n".encode()
            self._in_flight = len(content)
            try:
                self._write(content)
            except OSError as error:
                with suppress(OSError):  # a reader also tolerates a torn last line
                    os.ftruncate(self._file, self._length)
                raise self._refused("cannot be written", error) from None
            self._length += len(content)
            self._in_flight = 0

    def _check_length(self) -> None:
        """Compare the file with the bytes written so far; Ctrl-C may come before or after a
        write."""
        length = os.fstat(self._file).st_size
        if length in (self._length, self._length + self._in_flight):
            self._length = length
            self._in_flight = 0
        else:
            self._broken = (
                f"{self._path} was changed by something other than this run, so it is not used\n"
                "  find out what wrote into it, and run again with another --out"
            )
            raise JournalError(self._broken)

    def close(self) -> None:
        try:
            if not self._broken:
                self._check_length()
            os.fsync(self._file)
        except OSError as error:
            if not self._broken:
                raise self._refused("cannot be written", error) from None
        finally:
            os.close(self._file)

    def _write(self, content: bytes) -> None:
        while content:  # a nearly full disk may take only a part
            content = content[os.write(self._file, content) :]

    def _alone(self) -> None:
        """Lock the file itself: closing it releases the lock, however this process ends."""
        try:
            is_ours = lock_descriptor(self._file, blocking=False)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            return
        if not is_ours:
            raise JournalError(
                f"{self._path}: another run is writing into this folder\n"
                "  wait for it to end, or name another folder with --out"
            )

    def _mend(self, is_whole: IsWhole) -> None:
        """Cut off a torn line after the last newline, so that the next one starts on its own."""
        content = run_files.read(self._path.parent, self._path.name)
        start = content.rfind(b"\n") + 1
        if start == len(content):
            return
        if is_whole(content[start:]):  # all but its newline was written; a reader has counted it
            self._write(b"\n")
        else:
            os.ftruncate(self._file, start)

    def _refused(self, what: str, error: OSError) -> JournalError:
        self._broken = (
            f"{self._path} {what}: {error.strerror}\n  what stands in it is whole; mend that, and "
            f"go on with the same command and --out {self._path.parent}"
        )
        return JournalError(self._broken)


def replace_text(path: Path, text: str) -> None:
    """Replace the file's text atomically. Raises OSError."""
    replace(path, text.encode())


def replace(path: Path, content: bytes) -> None:
    """Replace the file's content atomically. Raises OSError."""
    run_files.write(path.parent, path.name, content, durable=True)


def replace_named(path: Path, text: str) -> None:
    """Replace the text of a file named by the user, even through a link. Raises OSError.

    This is atomic, unless `path` is a pipe or a device, or its folder takes no other file.
    """
    if path.parent != Path("/dev") and (path.is_file() or not path.exists()):
        file = Path(os.path.realpath(path))
        try:
            run_files.write(file.parent, file.name, text)
            return
        except OSError as error:
            if error.errno not in _HELD:
                raise
    path.write_text(text, encoding="utf-8")


@contextmanager
def unwritten(journal: Path) -> Iterator[None]:
    """Keep runs from writing to a journal, if it exists. Raises JournalError if one is writing
    now."""
    if not run_files.is_file(journal.parent, journal.name):
        yield
        return
    with run_files.opened(journal.parent, journal.name) as file:
        try:  # a shared lock: it needs no permission to write
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JournalError(
                f"{journal}: a run is still writing into this folder; wait for it to end"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield


def move_in(new: Path, folder: Path, head: str, stale: Iterable[str] = ()) -> None:
    """Move all files of `new` into the folder, over those of the same names. Raises OSError, with
    the folder as it was.

    `head`: the file without which the others are not read. It leaves first and comes last, so a
    folder in which a kill left a mixture has none. `stale`: names of files to take away as well.
    """
    files = [path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()]
    files.sort(key=lambda name: (name == head, name))
    done: list[tuple[Path, Path]] = []

    def move(path: Path, to: Path) -> None:
        done.append((path, to))
        os.rename(path, to)

    folder.mkdir(exist_ok=True)
    for name in {os.path.dirname(name) for name in files} - {""}:
        run_files.make_folder(folder, name)
    old = new / ".replaced"
    old.mkdir()
    try:
        for number, name in enumerate([head, *stale, *files]):
            if os.path.lexists(folder / name):
                if stat.S_ISDIR(os.lstat(folder / name).st_mode):
                    raise IsADirectoryError(
                        errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name)
                    )
                move(folder / name, old / str(number))
        for name in files:
            move(new / name, folder / name)
    except BaseException:
        for path, to in reversed(done):
            with suppress(FileNotFoundError):  # the move that failed
                os.rename(to, path)
        raise
