"""The harness's child processes: each has a deadline and a group, and none outlives the harness.

A compiler starts passes of its own and a worker may start anything, so a process is ended with all
its descendants: its process group, and every process that carries its mark in the environment. If
the harness itself is killed, the reaper does the same (reaper.py).
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

from harness.processes import reaper

_REAPER = Path(reaper.__file__)
_ROOM = 64
"""Characters reserved for marks. A mark has 18, plus 18 for each harness within a harness."""


class LateError(Exception):
    """A command did not end by its deadline. The command and every process that it started have
    been killed."""


@dataclass(frozen=True)
class Said:
    """The output of a command that has ended, and its exit code; negative for a signal."""

    code: int
    out: str
    err: str


class _Family:
    """All child processes of this process. Each child's mark begins with this process's mark."""

    def __init__(self) -> None:
        self.found()

    def found(self) -> None:
        above = os.environ.get(reaper.VARIABLE)
        self.mark = f"{above}/{secrets.token_hex(8)}" if above else secrets.token_hex(8)
        self.numbers = count()
        self.running: dict[int, Group] = {}
        self.lock = threading.Lock()
        self.stopped = False
        self._lifeline: int | None = None

    def watch(self) -> None:
        """Start the reaper, once."""
        if self._lifeline is not None:
            return
        reading, writing = os.pipe()
        try:
            subprocess.Popen(
                [sys.executable, "-I", "-S", str(_REAPER), f"{self.mark}."],
                stdin=reading, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        self._lifeline = writing


_family = _Family()


def begin_family() -> None:
    """Begin a new family in a forked process, which is then responsible only for its own children,
    not for its parent's."""
    _family.found()


class Group(ABC):
    """A process in a session of its own, with its descendants."""

    pid: int
    _mark: str
    _code: int | None = None

    def _begin(self) -> str:
        """Return the mark for the process's environment."""
        with _family.lock:
            _family.watch()
            self._mark = f"{_family.mark}.{next(_family.numbers)}."
        return self._mark

    def _enter(self, pid: int) -> None:
        """Register the process once it has started."""
        self.pid = pid
        with _family.lock:
            _family.running[pid] = self
            stopped = _family.stopped
        if stopped:
            self.kill()

    @abstractmethod
    def _collect(self) -> int:
        """Wait until the process has ended, and return its exit code."""

    def ends_within(self, seconds: float | None) -> bool:
        """Return whether the process ends in time. Its exit status is not collected, so its process
        id stays reserved."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:  # collected by another process, because its parent is gone
            return True
        try:
            wait = None if seconds is None else max(0.0, seconds)
            return bool(select.select([handle], [], [], wait)[0])
        finally:
            os.close(handle)

    def kill(self, thoroughly: bool = False) -> None:
        """Kill the process and its group, from any thread; the thread that waits for it notices
        its exit.

        `thoroughly`: also kill processes that have left the group, which may hold one of the
        harness's pipes open.
        """
        if self._code is None:  # otherwise another process may have its id by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        if thoroughly:
            reaper.end(self._mark)

    def end(self, thoroughly: bool = True) -> int:
        """Ensure that no process of the group is still running, and return the exit code.

        `thoroughly`: also look for processes that have left its group. This inspects every process
        of the machine, which is unnecessary after a normal exit in time.
        """
        self.kill(thoroughly)
        if self._code is None:
            self._code = self._collect()
        with _family.lock:
            _family.running.pop(self.pid, None)
        return self._code


class Child(Group):
    """A group that runs a program of its own; takes the arguments of subprocess.Popen.

    `room_for_marks`: reserve room in the environment that /proc shows, for the marks of processes
    forked from it.
    """

    def __init__(
        self, command: Sequence[str], room_for_marks: bool = False, **options: Any
    ) -> None:
        environment: Mapping[str, str] = options.pop("env", None) or os.environ
        mark = self._begin() + "_" * (_ROOM if room_for_marks else 0)
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            command, start_new_session=True, env={**environment, reaper.VARIABLE: mark}, **options
        )
        self._enter(self._process.pid)

    def _collect(self) -> int:
        return self._process.wait()


def kill_until(done: Callable[[], bool]) -> None:
    """Kill every child, present or future, until `done` returns true because no thread waits for a
    child any more."""
    while not done():
        with _family.lock:
            running = list(_family.running.values())
        for child in running:
            child.kill()
        time.sleep(0.02)


def stop_all() -> None:
    """Kill every child, present or future, because the harness is about to end."""
    with _family.lock:
        _family.stopped = True
        running = list(_family.running.values())
    for child in running:
        child.kill(thoroughly=True)


def begin_anew() -> None:
    """Undo `stop_all`, for a process that continues with another command, such as a test."""
    with _family.lock:
        _family.stopped = False


def output(command: Sequence[str], seconds: float) -> Said:
    """Run a non-interactive command to its end and return its output.

    Raises LateError at the deadline, and OSError if it cannot be started.
    """
    # Files rather than pipes, because a pass that left the group could hold a pipe open forever. In
    # memory, because a command cannot report a full disk on that disk.
    with _in_memory() as out, _in_memory() as err:
        child = Child(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        well = False
        try:
            well = child.ends_within(seconds)
        finally:
            code = child.end(thoroughly=not well)
        if not well:
            raise LateError
        return Said(code, _text(out), _text(err))


def _in_memory() -> IO[bytes]:
    return open(os.memfd_create("said"), "w+b")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
