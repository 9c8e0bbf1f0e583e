"""The cost of the two events around a launch, which is due to the host and is subtracted.

A launch is timed by two CUDA events around it. Besides the kernel, their interval includes the path
from the first event to the kernel and from the kernel to the second: 2.3 µs on one host, 4 on
another. Therefore, in every placement, the harness puts two events around a kernel that records
when its first block began and its last one ended. The interval between the events, minus the
recorded time, is the events' cost plus the time before the kernel's first instruction and after its
last. The second part depends on the card, not on the host. It is the constant `IN_AND_OUT_NS`,
which was determined with CUPTI, because CUPTI's durations include it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.journal.records import Ceiling, EventCost, Record
from harness.statistics.intervals import batch_time

LAUNCHES = 24
"""The number of launches of the self-timed kernel in each placement and cache state."""

IN_AND_OUT_NS = 770.0
"""CUPTI's duration of a self-timed kernel that reads, less the time that it reports: the time
before its first instruction and after its last. 672 to 832 ns on an H200, 800 to 832 on an H100
(driver 580, cold caches, 16 KiB to 64 MiB)."""

IN_DOUBT_NS = 250.0
"""The largest remaining error of a cost. Launches of one kernel and of two were within 153 ns of
CUPTI's durations of the same launches (reports/h200/timing/cupti.csv)."""

EMPTY_NS = 720.0
"""CUPTI's duration of an empty kernel: 580 to 860 ns on the same cards. It is used for runs made
before costs were measured, which recorded an empty kernel's time between two events."""

EMPTY_IN_DOUBT_NS = 250.0


@dataclass(frozen=True)
class Cost:
    """The cost of two events and its possible error, in ns."""

    ns: float
    in_doubt_ns: float


NOTHING = Cost(0.0, 0.0)


class EventCosts:
    """The costs in a run, by placement; for an older run, derived from its empty kernel."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._measured: dict[tuple[str, int, str], float] = {}
        self._older = NOTHING
        for record in records:
            if isinstance(record, EventCost):
                at = record.group, record.placement, record.cache
                self._measured[at] = cost(record.samples_ns)
            elif isinstance(record, Ceiling) and record.name == "empty_kernel":
                self._older = Cost(max(record.value - EMPTY_NS, 0.0), EMPTY_IN_DOUBT_NS)
        by_cache: dict[str, list[float]] = defaultdict(list)
        for (_, _, cache), ns in self._measured.items():
            by_cache[cache].append(ns)
        self._usual = {cache: Cost(median(found), IN_DOUBT_NS) for cache, found in by_cache.items()}

    @property
    def are_measured(self) -> bool:
        return bool(self._measured)

    def at(self, group: str, placement: int, cache: str) -> float:
        """The cost, in ns, to subtract from the intervals of a placement."""
        found = self._measured.get((group, placement, cache))
        return self.usual(cache).ns if found is None else found

    def usual(self, cache: str = "cold") -> Cost:
        """The usual cost over the whole run."""
        return self._usual.get(cache, self._older)


def cost(samples: Sequence[float]) -> float:
    """Compute the cost of two events, in ns, from launches of the self-timed kernel."""
    return max(batch_time(samples) - IN_AND_OUT_NS, 0.0)
