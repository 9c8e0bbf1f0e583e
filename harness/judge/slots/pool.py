"""The pool of judging processes: started ahead, bounded, and disposable.

A slot that overruns its deadline, or dies, is killed with its descendants and replaced. A spare
slot is kept ready, so that the next submission does not wait for a replacement.
"""

from __future__ import annotations

import os
import queue
import select
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError
from harness.files import scratch
from harness.judge.slots.process import ANSWER, REQUEST, Answer, Request, tidy
from harness.judge.slots.walls import Walls
from harness.processes.children import Child
from harness.run import staleness

PACKAGE = Path(__file__).resolve().parents[3]
STARTING_S = 120.0
"""Seconds that a slot's imports may take on a busy machine."""

MOST_KEPT = 256
"""The most submissions and compiled kernels kept in the folder of a slot that lives as long as the
judge."""
_LARGEST_ANSWER = 64 << 20
_TAIL = 2000


class SlotLost(Exception):
    """Raised if the slot did not reply in time, or at all. The slot has been ended."""

    def __init__(self, reason: str, late: bool = False) -> None:
        super().__init__(reason)
        self.late = late


class Slot:
    """One process that judges submissions in sequence.

    `home`: its working folder, for compiled files. `matrices`: the folder of its submissions, which
    it only reads. `memory`: bytes that each of its processes may allocate; 0 for no limit. `walls`:
    the sandbox around the slot, if any. No process outside this sandbox writes or removes files in
    `home`, because a link there could lead anywhere.
    """

    def __init__(self, home: Path, matrices: Path, memory: int, walls: Walls | None) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        kept = str(MOST_KEPT if walls else 0)
        command = [sys.executable, "-m", "harness.judge.slots.process", str(memory), kept]
        path = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path}
        # One linear-algebra thread per slot, because there are as many slots as cores.
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with walls.opened(home, matrices) if walls else _no_walls() as (before, files):
            theirs, self._requests = os.pipe()
            self._answers, tells = os.pipe()
            self._child = Child(
                [*before, *command], env=environment, cwd=home, stdin=theirs, stdout=tells,
                stderr=self._output, pass_fds=files, preexec_fn=walls.limit if walls else None,
            )  # fmt: skip
        os.close(theirs)
        os.close(tells)
        self.home, self.matrices = home, matrices
        self.is_ended, self.is_idle = False, True
        """is_ended: True once the slot can judge no more. is_idle: True while it has no
        submission."""
        self._is_ready = False
        self._read = b""

    @property
    def pid(self) -> int:
        return self._child.pid

    def do(self, request: Request, seconds: float) -> Answer:
        """Judge one submission. Raises SlotLost if the slot does not reply in time; the slot is
        then unusable."""
        self.wait()
        self.is_idle = False
        try:
            os.write(self._requests, REQUEST.dump_json(request) + b"\n")
        except OSError:
            raise self._lost("it had ended") from None
        answer = ANSWER.validate_json(self._line(seconds))
        self.is_idle = True
        return answer

    def wait(self) -> None:
        """Wait until the process has started. Raises SlotLost."""
        if not self._is_ready:
            self._line(STARTING_S)
            self._is_ready = True

    def _line(self, seconds: float) -> bytes:
        until = time.monotonic() + seconds
        while b"\n" not in self._read:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise self._lost(f"not done within {seconds:g} s, and stopped", late=True)
            part = os.read(self._answers, 1 << 20)
            if not part or len(self._read) > _LARGEST_ANSWER:
                raise self._lost("the process that judged it ended")
            self._read += part
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _lost(self, reason: str, late: bool = False) -> SlotLost:
        said = "" if late else self._last_words()
        self.end()
        return SlotLost("\n".join(filter(None, [reason, said])), late)

    def _last_words(self) -> str:
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _TAIL))
        return self._output.read().decode(errors="replace").strip()

    def end(self, thoroughly: bool = True) -> None:
        """End the process and all its descendants."""
        if self.is_ended:
            return
        self.is_ended = True
        self._child.end(thoroughly)
        os.close(self._requests)
        os.close(self._answers)
        self._output.close()


@contextmanager
def _no_walls() -> Iterator[tuple[list[str], list[int]]]:
    yield [], []


class Slots:
    """One slot per concurrent submission, and optionally a spare slot.

    Safe to use from any thread.
    """

    def __init__(
        self, jobs: int, home: Path, memory: int, sandboxed: bool, with_spare: bool
    ) -> None:
        if jobs < 1:
            raise UsageError(f"{jobs} jobs judge nothing: at least 1")
        staleness.harness_hash(False)  # slots need it; in a sandbox they can read it, not store it
        self._home, self._memory = home, memory
        self._walls = Walls() if sandboxed else None
        self._lock = threading.Lock()
        self._all: set[Slot] = set()
        self._number = 0
        self._stopped = False
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        for _ in range(jobs + with_spare):
            self._free.put(self._new())

    def _new(self) -> Slot:
        with self._lock:
            self._number += 1
            home, matrices = self._home, self._home / "matrices"
            if self._walls:  # files compiled in one sandbox are loaded in no other
                home = self._home / f"slot{self._number}"
                matrices = self._home / f"matrices{self._number}"
            for folder in (home, matrices):
                folder.mkdir(parents=True, exist_ok=True)
            slot = Slot(home, matrices, self._memory, self._walls)
            self._all.add(slot)
            return slot

    @contextmanager
    def one(self) -> Iterator[Slot]:
        """Take the first free slot; a lost slot is replaced."""
        slot = self._free.get()
        well = False
        try:
            yield slot
            well = True
        finally:
            if not (well or slot.is_idle):
                slot.end()
            self._back(slot)

    def _back(self, slot: Slot) -> None:
        if not slot.is_ended:
            if self._walls:  # without walls, other slots also read it
                tidy(slot.matrices, MOST_KEPT)
            self._free.put(slot)
            return
        if self._walls:
            for folder in (slot.home, slot.matrices):
                scratch.remove(folder)
        with self._lock:
            self._all.discard(slot)
        if not self._stopped:
            self._free.put(self._new())

    @property
    def pids(self) -> list[int]:
        """The ids of the processes from which all others in the judge descend."""
        with self._lock:
            return [slot.pid for slot in self._all]

    def wait(self) -> None:
        """Wait until all slots have started."""
        for slot in list(self._all):
            slot.wait()

    def stop(self) -> None:
        """End the processes of all slots, and their descendants."""
        with self._lock:
            self._stopped = True
            slots, self._all = list(self._all), set()
        for slot in slots:
            slot.end()
