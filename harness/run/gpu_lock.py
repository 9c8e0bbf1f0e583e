"""One run per GPU: two would time each other.

The lock is the kernel's, on an open file: it frees itself when its holder dies. The file may belong
to another user, who need not let us write it, and may lie in a folder where nobody may replace it;
a lock needs no more than to read it.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError

FOLDER = Path("/tmp")
"""One for all users and all their settings: TMPDIR may be a user's own."""

_MADE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_THERE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def gpu_to_itself(gpu: str) -> Iterator[None]:
    """Hold the GPU of that UUID. Raises UsageError where another run, of whoever, holds it."""
    path = FOLDER / f"kernel-harness-{re.sub(r'[^A-Za-z0-9-]+', '-', gpu)}.lock"
    try:
        file = _opened(path)
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}: whether another run uses the GPU cannot be told\n"
            "  delete the file, or have its owner do so"
        ) from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run is using this GPU ({gpu}); wait for it to end, or choose another GPU "
                "with CUDA_VISIBLE_DEVICES"
            ) from None
        yield
    finally:
        os.close(file)


def _opened(path: Path) -> int:
    try:
        file = os.open(path, _MADE, 0o644)
    except PermissionError:  # another user's
        return os.open(path, _THERE)
    if os.fstat(file).st_uid == os.geteuid():
        os.fchmod(file, 0o644)  # whatever the umask says, others need to read it
    return file
