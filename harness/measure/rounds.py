"""Randomised rounds of one placement: each case once per round, the baseline twice.

Any drift (clocks, temperature, a neighbour on the machine) then affects all cases alike, and the
ratio of two cases within a round is free of it. The baseline's second batch measures what remains:
by how much two runs of the same kernel differ.

If any launch of a batch is wrong, its case ends with a reason, and the others continue. A launch is
correct if its result equals the verified one bit for bit or, for a case whose results vary, if the
result is within its bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.backends.base import (
    BUSY,
    KEPT,
    LATE,
    LONG_NS,
    OTHER_RESULT,
    Batch,
    Right,
    Seen,
    TimedWorkspace,
)
from harness.cases import Case, Flush
from harness.compiler.compile import Built
from harness.compiler.functions.torch_compile import COMPILE_S
from harness.journal.records import Cache, Conditions, Outcome, Record, Round

BATCH_NS = 2e6
"""A batch is limited to about this length: a kernel that takes a millisecond does not need a dozen
launches."""

FEWEST = 3
"""The minimum number of launches in a batch, unless a single one is long."""

ROUNDS_NS = 1e9
"""A case takes part in as many rounds of a placement as fit into this time, but in at least one.
Slow kernels vary little, and the other cases would have to wait for them."""

BUSY_TRIES = 3
"""The number of times that a batch is repeated if the device was not idle in time after it. If it
never is, the variant is blamed."""

TRIES = 20
"""The number of batches in which a case may show that its results vary within their bounds, once
one result has differed from the verified one."""

CACHES: tuple[Cache, ...] = ("cold", "warm")


@dataclass(frozen=True)
class Entry:
    """A place in a round. `right`: the verified result with which every launch is compared."""

    case: Case
    built: Built | None
    right: Right | None = None
    repeat: bool = False


@dataclass(frozen=True)
class Clock:
    """The multiprocessors' clock at one moment, and the reasons for throttling, if known."""

    sm_hz: int | None = None
    throttle: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hooks:
    """The callbacks of the rounds; the defaults do nothing."""

    starting: Callable[[Case, float], None] = lambda case, seconds: None
    """Called before each batch, with the longest time that it may take."""
    clock: Callable[[], Clock] = Clock
    conditions: Callable[[int], Conditions | None] = lambda number: None
    bounds: Callable[[], None] | None = None
    """Called to give the workspace its bounds; it already has them if a case was known to vary."""
    launched: Callable[[Case, Sequence[Seen]], None] = lambda case, seen: None
    """Called after each batch whose results were recorded, with the records of its launches."""
    tampered: Callable[[], str] = lambda: ""
    """Returns which of the harness's own objects a case's code has replaced since the last call."""
    varies: Callable[[Case, Right], None] = lambda case, right: None
    """Called for a case whose results are found to vary during the rounds."""


def measure(
    workspace: TimedWorkspace,
    entries: Sequence[Entry],
    rounds: int,
    batch: int,
    rng: np.random.Generator,
    *,
    placement: int = 0,
    first_round: int = 0,
    flush: Flush = "clean",
    caches: Sequence[Cache] = CACHES,
    hooks: Hooks = Hooks(),
) -> Iterator[list[Record]]:
    """Yield the records of each complete round, so that an interrupted one leaves no trace.

    A failure is an Outcome among the records. Before the first round every case is launched a few
    times, to load its code and to measure how long a launch takes, which determines the length of a
    batch.
    """
    placed = _Placement(workspace, batch, placement, flush, hooks)
    entries = [entry for entry in entries if placed.ready(entry)]
    if placed.ended:
        yield placed.ended
    for number in range(first_round, first_round + rounds):
        found = []
        entries = [entry for entry in entries if placed.takes_part(entry, number - first_round)]
        for index in rng.permutation(len(entries)):
            for cache in caches:
                found += placed.batch(entries[index], cache, number, apart=number == first_round)
        entries = [entry for entry in entries if entry.case.id not in placed.failed]
        state = hooks.conditions(number)
        yield [r for r in found if not (isinstance(r, Round) and r.case in placed.failed)] + (
            [state] if state else []
        )


class _Placement:
    """One process's share of a measurement, and what has been found out about the cases."""

    def __init__(
        self, workspace: TimedWorkspace, batch: int, number: int, flush: Flush, hooks: Hooks
    ) -> None:
        self._workspace, self._batch, self._number = workspace, batch, number
        self._flush, self._hooks = flush, hooks
        self._launches: dict[str, int] = {}
        self._rounds: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._made: Counter[str] = Counter()
        self._varying: dict[str, Right] = {}
        self.failed: set[str] = set()
        self.ended: list[Record] = []

    def ready(self, entry: Entry) -> bool:
        """Launch a case, which loads its code, and estimate how long it takes. Return whether it
        can be timed."""
        case = entry.case
        if case.id in self.failed:
            return False
        if case.id in self._launches:
            return True
        self._hooks.starting(case, COMPILE_S if case.compiled else DEADLINE_S)
        wrong = self._workspace.ready(case, entry.built, entry.right) if entry.right else ""
        wrong = self._tampered(case) or wrong
        if wrong and not (wrong == OTHER_RESULT and self._is_seen_to_vary(entry, "cold")):
            self.ended.append(self._fail(case, wrong))
            return False
        tried = self._timed(entry, "cold", 2)
        longest = max(max(times) for times in tried.times_ns)
        fewest = 1 if longest >= LONG_NS else FEWEST
        launches = int(max(fewest, min(self._batch, BATCH_NS / max(longest, 1.0))))
        self._launches[case.id] = launches = min(launches, self._batch)
        # A warm launch comes right after another one.
        self._rounds[case.id] = max(1, int(ROUNDS_NS / (3 * launches * max(longest, 1.0))))
        self._seconds[case.id] = DEADLINE_S + 50e-9 * longest * self._batch
        self.ended += self._judged(entry, "cold", tried)
        return case.id not in self.failed

    def takes_part(self, entry: Entry, rounds_before: int) -> bool:
        return rounds_before < self._rounds[entry.case.id]

    def batch(self, entry: Entry, cache: Cache, number: int, apart: bool) -> list[Record]:
        """Time one batch and return its records; none for a case that has failed."""
        case, launches = entry.case, self._launches[entry.case.id]
        if case.id in self.failed:
            return []
        self._hooks.starting(case, self._seconds[case.id])
        timed = self._timed(entry, cache, launches)
        clock = self._hooks.clock()
        if wrong := self._judged(entry, cache, timed):
            return wrong
        steps: tuple[tuple[float, ...], ...] = ()
        if apart and len(case.steps) > 1 and not entry.repeat:
            each = self._timed(entry, cache, max(min(FEWEST, launches), launches // 2), apart=True)
            if wrong := self._judged(entry, cache, each):
                return wrong
            steps = tuple(_rounded(step) for step in zip(*each.times_ns, strict=True))
        samples = _rounded([total for [total] in timed.times_ns])
        return [Round(case.id, cache, number, entry.repeat, samples, steps, self._number,
                      clock.sm_hz, clock.throttle)]  # fmt: skip

    def _timed(self, entry: Entry, cache: Cache, launches: int, apart: bool = False) -> Batch:
        found = self._time(entry, cache, launches, self._right(entry), apart)
        may_vary = found.wrong and not found.kept and not found.late
        if may_vary and self._is_seen_to_vary(entry, cache):
            found = self._time(entry, cache, launches, self._right(entry), apart)
        for _ in range(BUSY_TRIES):  # a busy host also notices too late that the device is idle
            if not found.busy_ns or found.wrong or found.late or found.changed:
                break
            found = self._time(entry, cache, launches, self._right(entry), apart)
        return found

    def _time(
        self, entry: Entry, cache: Cache, launches: int, right: Right | None, apart: bool = False
    ) -> Batch:
        return self._workspace.time(
            entry.case, entry.built, cache, launches, right, apart, self._flush
        )

    def _right(self, entry: Entry) -> Right | None:
        return self._varying.get(entry.case.id, entry.right)

    def _is_seen_to_vary(self, entry: Entry, cache: Cache) -> bool:
        """Return whether a case's results vary within their bounds although they were equal in all
        earlier launches.

        The differing result is no longer available. Therefore the case is launched again until
        another result differs, and each result is compared with its bounds. If a result is out of
        bounds, or none differs, the case still counts as wrong.
        """
        case, right = entry.case, self._right(entry)
        if right is None or right.varies or self._hooks.bounds is None:
            return False
        self._hooks.bounds()
        varying = replace(right, varies=True)
        for _ in range(TRIES):
            self._hooks.starting(case, self._seconds.get(case.id, DEADLINE_S))
            found = self._time(entry, cache, self._launches.get(case.id, FEWEST), varying)
            if found.wrong or found.changed or found.late:
                return False
            if found.other:
                self._varying[case.id] = varying
                self._hooks.varies(case, varying)
                return True
        return False

    def _judged(self, entry: Entry, cache: Cache, batch: Batch) -> list[Record]:
        """Return the Outcome of a case with a fault in this batch; an empty list if every launch
        was right."""
        case = entry.case
        self._made[case.id] += len(batch.times_ns)
        if batch.seen:
            self._hooks.launched(case, batch.seen)
        found = [words for words in (self._tampered(case), batch.changed) if words]
        of = f"of {self._made[case.id]} timed launches"
        if batch.kept:
            found.append(f"{KEPT} ({batch.kept} {of}; {batch.first})")
        elif batch.wrong:
            found.append(f"wrong in {batch.wrong} {of}")
        if batch.late:
            found.append(f"{LATE} ({batch.late} {of})")
        elif batch.busy_ns:
            found.append(f"{BUSY}, for {batch.busy_ns / 1e3:.0f} µs or more")
        return [self._fail(case, f"{'; '.join(found)} ({cache})")] if found else []

    def _tampered(self, case: Case) -> str:
        return "" if case.kind == "kernel" else self._hooks.tampered()

    def _fail(self, case: Case, reason: str) -> Outcome:
        self.failed.add(case.id)
        return Outcome(case.id, "failed", f"while timed: {reason}")


DEADLINE_S = 20.0
"""The longest time, in seconds, that a case may take while its launch time is unknown."""


def _rounded(times: Sequence[float]) -> tuple[float, ...]:
    """Round to a tenth of a nanosecond."""
    return tuple(round(ns, 1) for ns in times)
