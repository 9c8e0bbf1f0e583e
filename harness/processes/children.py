"""The processes that the harness starts: each with a deadline and a group, and none outlives it.

A compiler starts passes of its own and a worker may start anything, so whoever is ended is ended
with everything below it: its process group, and whatever carries its mark in the environment. If
the harness itself is killed, a guardian does the same (reaper.py).
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
"""Characters: a mark has 18, and as many more for each harness within a harness."""


class LateError(Exception):
    """A command did not end by its deadline. It has been ended, with all that it started."""


@dataclass(frozen=True)
class Said:
    """What a command that has ended printed, and its exit code; below 0 it is a signal's."""

    code: int
    out: str
    err: str


class _Family:
    """All children of this process. Its mark is the beginning of each child's."""

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
        """Start the guardian, once."""
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
    """In a process that was forked: what it starts is its own, and not its parent's."""
    _family.found()


class Group(ABC):
    """A process in a session of its own, with what it starts."""

    pid: int
    _mark: str
    _code: int | None = None

    def _begin(self) -> str:
        """The mark that its environment is to have."""
        with _family.lock:
            _family.watch()
            self._mark = f"{_family.mark}.{next(_family.numbers)}."
        return self._mark

    def _enter(self, pid: int) -> None:
        """It has started."""
        self.pid = pid
        with _family.lock:
            _family.running[pid] = self
            stopped = _family.stopped
        if stopped:
            self.kill()

    @abstractmethod
    def _collect(self) -> int:
        """Wait for its end; its exit code."""

    def ends_within(self, seconds: float | None) -> bool:
        """Whether it has ended by then. Its exit is not collected, so that its number stays its."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:  # collected by another, which is where its parent is gone
            return True
        try:
            wait = None if seconds is None else max(0.0, seconds)
            return bool(select.select([handle], [], [], wait)[0])
        finally:
            os.close(handle)

    def kill(self, thoroughly: bool = False) -> None:
        """End it and its group, from any thread; whoever waits for it is told by its exit.

        thoroughly: what has left the group, too, which may hold a pipe of ours open.
        """
        if self._code is None:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        if thoroughly:
            reaper.end(self._mark)

    def end(self, thoroughly: bool = True) -> int:
        """Nothing of it runs afterwards; its exit code.

        thoroughly: look for what has left its group, too. That takes a look at every process of
        the machine, which one that ended well and in time is not worth.
        """
        self.kill(thoroughly)
        if self._code is None:
            self._code = self._collect()
        with _family.lock:
            _family.running.pop(self.pid, None)
        return self._code


class Child(Group):
    """A group with a program of its own; takes what subprocess.Popen takes.

    room_for_marks: leave room where /proc shows its mark, for those that are forked from it.
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
    """End every child, and those that are started, until whoever waits for them has given up."""
    while not done():
        with _family.lock:
            running = list(_family.running.values())
        for child in running:
            child.kill()
        time.sleep(0.02)


def stop_all() -> None:
    """End every child, and whichever is started from now on: the harness itself is to end."""
    with _family.lock:
        _family.stopped = True
        running = list(_family.running.values())
    for child in running:
        child.kill(thoroughly=True)


def begin_anew() -> None:
    """After `stop_all`: for a process that goes on to another command, such as a test."""
    with _family.lock:
        _family.stopped = False


def output(command: Sequence[str], seconds: float) -> Said:
    """Run a command that asks nothing to its end.

    Raises LateError at the deadline, and OSError where it cannot be started.
    """
    # Files and no pipes: a pass that left the group could hold a pipe open for ever. In memory: a
    # command could not say onto a full disk that it is full.
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
