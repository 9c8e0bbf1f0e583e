"""Time one group: prepare its cases once, then run placements until all are settled.

A placement is a worker process with its own context, memory and code. After a set number of
placements the run takes a look: it checks which cases are settled. Only the other cases get more
placements. If a case crashes its worker, the others lose only the time of a restart: each case has
its own deadline, and the case that crashed is left out.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends.base import Right
from harness.cases import Case
from harness.files import scratch
from harness.processes import host_memory
from harness.processes.workers import Ended
from harness.run.surroundings import Surroundings

RAM = Path("/dev/shm")
"""The folder in which inputs wait for their placements, if there is room."""

NO_MEMORY = "skipped for all variants, as there is no memory for this size"

NO_MEMORY_OF_ITS_OWN = "skipped, as there is no memory for what it needs at this size"

HOST_BYTES_PER_S = 200e6
"""The lowest rate at which the host prepares and compares verified data, partly on a single
core."""

ATTEMPTS = 3
"""The number of workers in a row that may end without a reason that implicates a case."""


@dataclass(frozen=True)
class Drawn:
    """A group's inputs and references, generated ahead. `files`: draw → file → hash."""

    folder: Path
    files: dict[int, dict[str, str]]


@dataclass(frozen=True)
class Effort:
    """The amount of measuring, computed from bench.yaml's timing and limits."""

    looks: tuple[int, ...]
    choosing: int
    rounds: int
    """The number of rounds in a placement."""
    batch: int
    interval: float
    seconds: float
    """The seconds after which no more placements are added."""
    caches: tuple[str, ...] = ("cold", "warm")
    shared: bool = False
    """True if one process runs placements of several groups."""


@dataclass
class Measurement:
    """One group's cases, which share a problem, a type, sizes and inputs."""

    run: Surroundings
    cases: Sequence[Case]
    baseline: str
    effort: Effort
    first_placement: int = 0
    """The placement at which a resumed run continues."""
    needed_bytes: int = 0
    drawn: Drawn | None = None
    """The inputs that were generated in advance."""
    clock: Callable[[], float] = time.monotonic
    _scratch: Path = Path()
    _right: dict[str, Right] = field(default_factory=dict)
    _sound: int = 0
    _throttled: int = 0
    """The number of placements that were throttled in every round."""

    @property
    def _is_unstable(self) -> bool:
        """Return whether throttling has left fewer rounds than the minimum for figures."""
        return bool(self._throttled) and self._sound < self.effort.looks[0] + self.effort.choosing

    def carry_out(self) -> None:
        """Measure the group. Every case has an outcome afterwards, unless the run was stopped."""
        with self.prepared():
            self.measure()

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Verify every case at this size, and hold the inputs that `measure` needs.

        Nothing is timed, so several groups may be prepared at once.
        """
        folder = nullcontext(self.drawn.folder) if self.drawn else room(self.needed_bytes)
        with folder as self._scratch:
            self._prepare(self._scratch)
            yield

    def measure(self) -> None:
        """Run placements, and give every case its outcome unless the run was stopped."""
        self._place(self._scratch, self.clock())
        for case in self._open():
            if self._is_unstable:
                self.run.finish(case, "failed", self._unstable(), again=True)
            else:
                self.run.finish(case, "ok")

    def _unstable(self) -> str:
        return (
            f"unstable: the card was throttled in every round of {self._throttled} of "
            f"{self._throttled + self._sound} placements, within {self.effort.seconds:g} s\n"
            "  mind its cooling and its power, and run again"
        )

    def _open(self) -> list[Case]:
        return [case for case in self.cases if self.run.is_open(case)]

    def _prepare(self, scratch: Path) -> None:
        """Verify every case at this size; a case that crashes the worker is left out."""
        attempts = 0
        while rest := [case for case in self._open() if case.id not in self._right]:
            job = self.run.job(
                "prepare", cases=tuple(rest), scratch=scratch, seat=self._seat("prepare"),
                drawn=self.drawn.files if self.drawn else {},
            )  # fmt: skip
            ended = self.run.do(job, self.needed_bytes // HOST_BYTES_PER_S)
            self._right |= ended.right
            attempts = self._blame(rest, ended, attempts)

    def _blame(self, cases: Sequence[Case], ended: Ended, attempts: int) -> int:
        """Fail the case that ended a worker; if no single case is responsible, fail all of them
        after a few attempts.

        If there is not enough memory for a size, it is skipped for all variants, so that
        comparisons stay complete. Return how many workers in a row have ended for no known reason.
        """
        if not ended.reason:
            return 0
        if ended.crowded:  # crowded out by other processes, which have been ended
            return attempts + 1
        rest = [case for case in cases if self.run.is_open(case)]
        guilty = [case for case in rest if case.id == ended.at]
        if guilty and ended.no_memory:  # it needs more than the others; usually a library
            self.run.finish(guilty[0], "skipped", f"{NO_MEMORY_OF_ITS_OWN}: {ended.reason}", True)
            return 0
        if guilty and not ended.killed:
            limits = ("launch_s",) if ended.late else ()
            self.run.finish(guilty[0], "failed", ended.reason, limits=limits)
            return 0
        if ended.no_memory:
            for case in rest:
                self.run.finish(case, "skipped", f"{NO_MEMORY}: {ended.reason}", again=True)
            return 0
        if attempts + 1 >= ATTEMPTS:
            for case in rest:
                self.run.finish(case, "failed", ended.reason, again=ended.killed)
        return attempts + 1

    def _place(self, scratch: Path, started: float) -> None:
        effort, number, attempts = self.effort, self.first_placement, 0
        wanted = self._open()
        for look, most in enumerate(effort.looks):
            while self._sound < most + effort.choosing and (
                wanted := [case for case in wanted if self.run.is_open(case)]
            ):
                if (look or self._throttled) and self.clock() - started > effort.seconds:
                    return
                ended = self._one(scratch, wanted, number)
                attempts = self._blame(wanted, ended, attempts)
                if not ended.reason and self.run.timings(wanted).is_spoiled(number):
                    self._throttled += 1
                else:
                    self._sound += not ended.reason
                number += 1
            if look + 1 < len(effort.looks):
                wanted = self._unsettled()

    def _one(self, scratch: Path, cases: Sequence[Case], number: int) -> Ended:
        job = self.run.job(
            "measure", cases=tuple(cases), scratch=scratch, placement=number,
            right={case.id: self._right[case.id] for case in cases},
            reference=self._reference(cases), rounds=self.effort.rounds, batch=self.effort.batch,
            seat=self._seat(f"placement {number}"),
        )  # fmt: skip
        ended = self.run.do(job)
        self._right |= ended.right  # a case may not turn out to vary until now
        for case in cases if not ended.reason else ():  # an incomplete round does not count
            if (reason := ended.failed.get(case.id)) and self.run.is_open(case):
                self.run.finish(case, "failed", reason)
        return ended

    def _seat(self, name: str) -> str:
        """The seat (see Job) of a process that measures all groups; empty if each group has its own
        process.

        A variant's own code must not affect another group through side effects in a process that
        they share. Kernels have no side effects on the host, because they run on the device, and a
        library belongs to the problem itself. Therefore only a group with other functions gets its
        own process.
        """
        is_harmless = all(case.kind == "kernel" or case.is_library for case in self.cases)
        return name if self.effort.shared and is_harmless else ""

    def _reference(self, cases: Iterable[Case]) -> str:
        """The variant that is timed twice per round: the baseline, or the first valid variant if it
        failed.
        """
        variants = [case.variant for case in cases if not case.is_library]
        return self.baseline if self.baseline in variants else next(iter(variants), "")

    def _unsettled(self) -> list[Case]:
        """The cases that need more placements, and those with which they are compared."""
        rest = self._open()
        timings = self.run.timings(rest)
        found = {
            case.id
            for case in rest
            for cache in self.effort.caches
            if not timings.is_settled(case.id, cache, self.effort.interval)
        }
        found |= {base for case in list(found) if (base := timings.baseline_of(case))}
        return [case for case in rest if case.id in found]


@contextmanager
def room(needed: int) -> Iterator[Path]:
    """A temporary folder, in memory if there is room to spare, otherwise on disk."""
    free = [shutil.disk_usage(RAM).free] if RAM.is_dir() else [0]
    if (available := host_memory.available()) is not None:
        free.append(available)
    in_ram = min(free) > 4 * needed
    with scratch.folder(RAM if in_ram else None) as folder:
        yield folder
