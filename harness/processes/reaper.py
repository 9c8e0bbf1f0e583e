"""A process that briefly outlives the harness, in order to end the processes that the harness left
running.

    python -I -S reaper.py MARK < the reading end of a pipe that the harness holds open

However the harness ends, even by `kill -9`, the pipe closes with it. Then every process whose
environment has the mark is killed: compilers and their passes, workers, ncu, and all their
descendants, even in a session of their own. The reaper imports nothing from the harness, so it
starts immediately.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

VARIABLE = "KERNEL_HARNESS_CHILD"
"""The environment variable that marks every process of a harness, and names the harness that
started it."""

_PASSES = 100
"""The number of passes. A process that is forked during one pass is found in the next."""


def marked(mark: str) -> tuple[list[int], bool]:
    """Find this user's processes that carry the mark, except this one.

    Also return whether some process has no readable environment yet, because it is still loading
    its program.
    """
    wanted = f"\0{VARIABLE}={mark}".encode()
    found, is_one_loaded = [], False
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        environment = _environment(int(name))
        is_one_loaded |= environment == b""
        if environment and wanted in b"\0" + environment:
            found.append(int(name))
    return found, is_one_loaded


def _environment(pid: int) -> bytes | None:
    """A process's initial environment; None if it has ended or is not this user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return None


def relatives(pids: Iterable[int]) -> list[int]:
    """The given processes that the same harness started, except this one."""
    own = os.environ.get(VARIABLE, "")
    if not own:
        return []
    family = f"\0{VARIABLE}={own.rsplit('.', 2)[0]}.".encode()
    others = [pid for pid in pids if pid != os.getpid()]
    return [pid for pid in others if family in b"\0" + (_environment(pid) or b"")]


def end(mark: str) -> None:
    """Kill every process that carries the mark, including those started in the meantime."""
    for _ in range(_PASSES):
        there, is_one_loaded = marked(mark)
        if not there and not is_one_loaded:
            return
        for pid in there:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    end(sys.argv[1])
    time.sleep(0.1)  # a process that was just starting had no mark yet
    end(sys.argv[1])


if __name__ == "__main__":
    main()
