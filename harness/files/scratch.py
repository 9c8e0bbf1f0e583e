"""Create scratch folders. A folder whose process was killed is removed by the next process that
creates one.

Each folder is locked by the process that made it, and the operating system releases the lock
however the process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "harness-scratch-"
_YOUNG_S = 60
"""A folder younger than this many seconds might not be locked yet."""

_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

_swept: set[Path] = set()


@contextmanager
def folder(above: Path | None = None) -> Iterator[Path]:
    """Yield an empty private folder, removed at the end. `above`: the folder in which it is
    created; TMPDIR by default."""
    above = above or Path(tempfile.gettempdir())
    _sweep(above)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=above))
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: nobody will remove it either
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path
    except OSError as error:
        if error.filename is None and error.errno in _OF_THE_DISK:
            error.filename = str(path)  # a write error names no file, but the user needs the name
        raise
    finally:
        remove(path)
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a folder and everything in it, as far as possible, however deep it is."""
    with suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if path.exists():  # rmtree calls itself and opens a file for each level
        subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)


def _sweep(above: Path) -> None:
    """Remove the folders left behind by this user's dead processes; once per process is enough."""
    if above in _swept:
        return
    _swept.add(above)
    for path in above.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        is_old = time.time() - found.st_mtime > _YOUNG_S
        if found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode) and is_old:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is in use
            remove(path)
    finally:
        os.close(handle)
