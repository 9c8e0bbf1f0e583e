"""The only access to a run's folder: every file in it is read, written and removed here.

The folder may come from an untrusted source. The folder itself may be reached through a link, as
reports/latest is. Inside the folder no link is followed, in any component of a name: each component
is opened relative to the folder that contains it. Only regular files within size bounds are read,
never a pipe or a device. Writing makes a new file that then takes the old one's name, so an
existing link is replaced and its target is left unchanged.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

REPORTS = Path("reports")
"""The folder, under the current directory, for runs for which no folder is given."""
LATEST = REPORTS / "latest"
BASELINES = REPORTS / "baselines"

LARGEST = 1 << 32
"""The largest file that is read from a run's folder, in bytes, unless the caller sets less."""

_DEEPEST = 64
"""The most folders within one another in a run's folder; a run makes four."""
_PART = 1 << 20
_PRIVILEGES = stat.S_ISUID | stat.S_ISGID
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
_WHAT = {
    stat.S_IFLNK: "it is a link, and links in a run's folder are not followed",
    stat.S_IFDIR: "it is not a file, but a folder",
    stat.S_IFIFO: "it is not a file, but a pipe",
    stat.S_IFSOCK: "it is not a file, but a socket",
    stat.S_IFCHR: "it is not a file, but a device",
    stat.S_IFBLK: "it is not a file, but a device",
}


def baselines() -> list[str]:
    """The names of the saved baselines under the current directory."""
    return sorted(path.parent.name for path in BASELINES.glob("[!.]*/run.json"))


def read(folder: Path, name: str, most: int = LARGEST) -> bytes:
    """Read a file's content. Raises OSError with a readable message if it is not a regular file or
    is too large."""
    with opened(folder, name, most) as file:
        return _content(file, folder / name, most)


@contextmanager
def opened(folder: Path, name: str, most: int = LARGEST) -> Iterator[BinaryIO]:
    """Open a file to read it piece by piece. Raises OSError as `read` does."""
    with _above(folder, name) as (above, last):
        handle = _open(above, last, os.O_RDONLY | os.O_NONBLOCK, folder / name)
    with os.fdopen(handle, "rb") as file:
        _check(handle, folder / name, most)
        yield file


def read_named(path: Path, most: int = LARGEST) -> bytes:
    """Read a file named by the user, even through a link. Raises OSError as `read` does."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        _check(handle, path, most)
        return _content(file, path, most)


def read_within(folder: Path, name: str, most: int = LARGEST) -> bytes | None:
    """Read a file under one of the user's own folders; None if it does not exist or a link leads
    outside."""
    try:
        home = folder.resolve()
        inside = (home / name).resolve().relative_to(home)
        return read(home, inside.as_posix(), most)
    except (OSError, ValueError, RuntimeError):
        return None


def is_file(folder: Path, name: str) -> bool:
    """Return whether there is a regular file whose path contains no link."""
    try:
        with _above(folder, name) as (above, last):
            return stat.S_ISREG(os.stat(last, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        return False


def append_to(path: Path) -> int:
    """Return a descriptor for appending to a file, which is created if necessary. Raises OSError as
    `read` does."""
    with _above(path.parent, path.name) as (above, last):
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
        handle = _open(above, last, flags, path)
    try:
        _check(handle, path, None)
    except OSError:
        os.close(handle)
        raise
    return handle


def write(folder: Path, name: str, content: bytes | str, durable: bool = False) -> None:
    """Replace the file's content atomically. Raises OSError.

    Missing folders are created. `durable`: return only after the content has reached the disk; for
    content that cannot be generated again.
    """
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    with _above(folder, name, make=True) as (above, last), _told(path):
        beside = f".{secrets.token_hex(8)}"  # `name` may already have the maximum length
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600,
                         dir_fd=above)  # fmt: skip
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(handle, 0o666 & ~mask)
            os.replace(beside, last, src_dir_fd=above, dst_dir_fd=above)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside, dir_fd=above)
            raise


def remove(folder: Path, name: str) -> None:
    """Remove the file; if the name is a link, remove the link but not its target. Raises
    OSError."""
    try:
        with _above(folder, name) as (above, last), _told(folder / name):
            os.unlink(last, dir_fd=above)
    except FileNotFoundError:
        return


def keep_only(folder: Path, name: str, ending: str, wanted: Collection[str]) -> None:
    """Remove all files with that suffix, except these, from a folder inside the run's folder.
    Raises OSError."""
    with (
        suppress(FileNotFoundError),
        _above(folder, f"{name}/-") as (inside, _),
        _told(folder / name),
    ):
        for each in os.listdir(inside):
            if each.endswith(ending) and each not in wanted:
                os.unlink(each, dir_fd=inside)


def check(folder: Path) -> None:
    """Check, before a run writes into an existing folder, that the folder contains only folders and
    files.

    Other programs that write into the folder, such as ncu, would follow a link. Raises OSError.
    """
    for above, _, names, handle in _levels(folder):
        for each in names:
            kind = stat.S_IFMT(os.stat(each, dir_fd=handle, follow_symlinks=False).st_mode)
            if kind not in (stat.S_IFREG, stat.S_IFDIR):
                raise OSError(errno.EINVAL, _WHAT[kind], os.path.join(above, each))


def without_privileges(folder: Path) -> None:
    """Take the set-user-ID and set-group-ID bits from every file in a folder. Raises OSError."""
    for _, files, _, handle in _levels(folder):
        for each in files:
            found = os.stat(each, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode) and found.st_mode & _PRIVILEGES:
                file = os.open(each, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=handle)
                try:
                    os.fchmod(file, stat.S_IMODE(found.st_mode) & ~_PRIVILEGES)
                finally:
                    os.close(file)


def _levels(folder: Path) -> Iterator[tuple[str, list[str], list[str], int]]:
    """Each folder in a folder: its path, its files, all its names, and its open descriptor. Raises
    OSError if they are too deep."""
    top = len(folder.parts)
    for above, folders, files, handle in os.fwalk(folder):
        if len(Path(above).parts) - top > _DEEPEST:
            raise OSError(errno.EINVAL, f"it has over {_DEEPEST} folders in one another", above)
        yield above, files, [*folders, *files], handle


def make_folder(folder: Path, name: str) -> Path:
    """Make a folder inside the run's folder unless it exists; a link is rejected. Raises
    OSError."""
    with _above(folder, f"{name}/-", make=True):
        return folder / name


@contextmanager
def _above(folder: Path, name: str, make: bool = False) -> Iterator[tuple[int, str]]:
    """Return the open folder that holds a name's last component, and that component."""
    *between, last = _parts(name)
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, _FOLDER)
    try:
        here = folder
        for each in between:
            here /= each
            if make:
                with suppress(FileExistsError), _told(here):
                    os.mkdir(each, dir_fd=handle)
            below = _open(handle, each, _FOLDER, here)
            os.close(handle)
            handle = below
        yield handle, last
    finally:
        os.close(handle)


def _parts(name: str) -> tuple[str, ...]:
    """Split a name into components. Raises OSError if it leads out of the folder."""
    found = PurePosixPath(name).parts
    if not found or any(each in ("..", "/", "//") or "\0" in each for each in found):
        raise OSError(errno.EINVAL, "it is not in the run's folder", name)
    return found


def _open(above: int, name: str, flags: int, path: Path) -> int:
    try:
        return os.open(name, flags | _NO_LINK, 0o666, dir_fd=above)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(error.errno, error.strerror, str(path)) from None
        kind = 0
        with suppress(OSError):
            kind = stat.S_IFMT(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
        if kind not in (0, stat.S_IFDIR if flags & os.O_DIRECTORY else stat.S_IFREG):
            what = _WHAT.get(kind, "it is a file, not a folder")
            raise OSError(error.errno, what, str(path)) from None
        raise OSError(error.errno, error.strerror, str(path)) from None


def _check(handle: int, path: Path, most: int | None) -> None:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        what = _WHAT.get(stat.S_IFMT(found.st_mode), "it is no file")
        raise OSError(errno.EINVAL, what, str(path))
    if most is not None and found.st_size > most:
        raise _too_large(path, most)


def _content(file: BinaryIO, path: Path, most: int) -> bytes:
    parts, length = [], 0
    while part := file.read(_PART):  # a single large read would allocate everything at once
        parts.append(part)
        length += len(part)
        if length > most:  # it has grown since, or has no size
            raise _too_large(path, most)
    return b"".join(parts)


def _too_large(path: Path, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has over {most} bytes", str(path))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Make an error name the whole path instead of the name within an open folder."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
