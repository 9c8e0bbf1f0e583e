"""Whether a process that a test started, or that was started below it, has ended."""

from __future__ import annotations

import time
from pathlib import Path


def gone(pid: int, within_s: float = 10) -> bool:
    """Whether a process is no more, or no more than its parent's memory of it, in time."""
    end = time.monotonic() + within_s
    while not _is_gone(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"
