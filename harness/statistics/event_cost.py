"""What two events around a launch cost: it belongs to the host and is taken off a case's time.

A launch stands between two CUDA events. Their interval holds, besides the kernel, the way from the
first event to the kernel and from the kernel to the second: 2.3 µs on one host, 4 on another. So in
every placement one kernel that stores when its first block began and its last one ended is timed
between two events. What the events show beyond that is their cost, and the time before the kernel's
first instruction and after its last. That time belongs to the card, not to the host: it is a
constant here (`IN_AND_OUT_NS`), read with CUPTI, whose durations include it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from harness.journal.records import Ceiling, EventCost, Record
from harness.statistics.intervals import batch_time

LAUNCHES = 24
"""Of the kernel that times itself, in each placement and state of the cache."""

IN_AND_OUT_NS = 770.0
"""CUPTI's duration of a self-timed kernel that reads, less what it says itself: the time before its
first instruction and after its last. 672 to 832 ns on an H200, 800 to 832 on an H100 (driver 580,
cold caches, 16 KiB to 64 MiB)."""

IN_DOUBT_NS = 250.0
"""The largest error that is left in a cost. Launches of one kernel and of two were within 153 ns of
CUPTI's durations of the same launches (reports/h200/timing/cupti.csv)."""

EMPTY_NS = 720.0
"""CUPTI's duration of an empty kernel: 580 to 860 ns on the same cards. For a run of before costs
were measured, whose empty kernel between two events is known."""

EMPTY_IN_DOUBT_NS = 250.0


@dataclass(frozen=True)
class Cost:
    """What two events cost, and by how much that may be wrong, ns."""

    ns: float
    in_doubt_ns: float


NOTHING = Cost(0.0, 0.0)


class EventCosts:
    """The costs in a run, by placement; of an older run, from its empty kernel."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._measured: dict[tuple[str, int, str], float] = {}
        self._older = NOTHING
        for record in records:
            if isinstance(record, EventCost):
                at = record.group, record.placement, record.cache
                self._measured[at] = cost(record.samples_ns)
            elif isinstance(record, Ceiling) and record.name == "empty_kernel":
                self._older = Cost(max(record.value - EMPTY_NS, 0.0), EMPTY_IN_DOUBT_NS)

    @property
    def are_measured(self) -> bool:
        return bool(self._measured)

    def at(self, group: str, placement: int, cache: str) -> float:
        """What is taken off an interval of a placement, ns."""
        found = self._measured.get((group, placement, cache))
        return self.usual(cache).ns if found is None else found

    def usual(self, cache: str = "cold") -> Cost:
        """The whole run's."""
        found = [ns for (_, _, of), ns in self._measured.items() if of == cache]
        return Cost(median(found), IN_DOUBT_NS) if found else self._older


def cost(samples: Sequence[float]) -> float:
    """What two events cost by these launches of the self-timed kernel, ns."""
    return max(batch_time(samples) - IN_AND_OUT_NS, 0.0)
