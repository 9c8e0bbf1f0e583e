"""Lock a GPU for one run, because two runs would disturb each other's times."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from harness.errors import UsageError

FOLDER = Path("/tmp")
"""The folder of the locks, the same for all users; TMPDIR may differ from user to user."""

_EVERYBODY = 0o666
"""The mode of a lock file. A second user of the host must be able to take the lock once the first
has released it."""


@contextmanager
def gpu_to_itself(gpu: str) -> Iterator[None]:
    """Hold the GPU with this UUID. Raises UsageError if any user's run already holds it."""
    path = FOLDER / f"kernel-harness-{re.sub(r'[^A-Za-z0-9-]+', '-', gpu)}.lock"
    try:
        let_go = _taken(path)
    except (Timeout, BlockingIOError):
        raise UsageError(
            f"another run is using this GPU ({gpu}); wait for it to end, or choose another GPU "
            "with CUDA_VISIBLE_DEVICES"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}: it cannot be determined whether another run uses the GPU\n"
            "  delete the file, or have its owner do so"
        ) from None
    try:
        yield
    finally:
        let_go()


def _taken(path: Path) -> Callable[[], object]:
    """Take the lock in this file; return a handle that releases it."""
    lock = FileLock(path, timeout=0, mode=_EVERYBODY, thread_local=False)
    try:
        lock.acquire()
        return lock.release
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
    # A sandbox shows the file read-only, and FileLock needs to write; flock itself does not.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return partial(os.close, file)
