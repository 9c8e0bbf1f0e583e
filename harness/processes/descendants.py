"""Find and end the processes that a process has started, even if they have detached themselves.

A process that leaves its session, or whose parent ends, is still a descendant of the process in
which `adopt` was called: Linux makes that process the parent of all processes that its descendants
leave behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36
_PASSES = 200
_PAUSE_S = 0.005


def adopt() -> None:
    """Become the parent of all descendants whose own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> set[int]:
    """The ids of all descendants of this process, including those not collected yet."""
    found, todo = set[int](), [os.getpid()]
    while todo:
        new = set(_children(todo.pop())) - found
        found |= new
        todo += new
    return found


def _children(pid: int) -> Iterator[int]:
    """The children that any thread of a process has started; none if the process has ended."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                yield from map(int, file.read().split())


def end_all_but(kept: Collection[int]) -> bool:
    """Kill all descendants except these; return whether all have ended.

    Processes started in the meantime are found in a later pass; a process that keeps starting
    others may outrun every pass. Ended processes are collected, unless their parent is one of those
    kept.
    """
    for number in range(_PASSES):
        others = descendants() - set(kept)
        running = {pid for pid in others if not _has_ended(pid)}
        for pid in running:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in others:
            with suppress(OSError):  # another process's child
                os.waitpid(pid, os.WNOHANG)
        if not running:
            return True
        if number:
            time.sleep(_PAUSE_S)
    return False


def _has_ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
