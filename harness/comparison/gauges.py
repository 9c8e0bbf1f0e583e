"""The counters that say something of a cost: which way is worse, from when on, and why.

A gauge decides (it can close a gate) where its value is exact on both sides: made by the compiler,
or counted by a rule that reproduces the hardware's counter. What is counted in PTX or comes from a
model is told and decides nothing. Where both sides were timed, the time decides alone, and every
gauge only tells what changed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.quantities import BY_KEY, Quantity
from harness.analysis.readings import Reading, Readings
from harness.comparison.lines import Amount, Place, where
from harness.comparison.pairs import Side
from harness.records import SourceLine

WARP = 32

EXACT = frozenset({"measured", "machine-exact", "emulator-exact"})
"""Origins of a value that is the same to the digit however often it is worked out."""


@dataclass(frozen=True)
class Gauge:
    """worse: 1 where more is worse, −1 where less is. tolerance: a change up to this part of the
    value is none. needs: worse only where these moved the same way. family: of those that say the
    same of one change, only the first is told. amount: what a line of source has of the cost.
    shown: two amounts of a line whose quotient is the line's own figure."""

    key: str
    worse: int
    decides: bool
    tolerance: float
    why: str
    needs: tuple[str, ...] = ()
    family: str = ""
    amount: Amount | None = None
    shown: tuple[Amount, Amount] | None = None

    @property
    def quantity(self) -> Quantity:
        return BY_KEY[self.key]


def _sectors(line: SourceLine) -> float:
    return line.sectors + line.store_sectors + line.atomic_sectors


def _requests(line: SourceLine) -> float:
    return line.requests + line.store_requests + line.atomic_requests


def _met(line: SourceLine) -> float:
    return line.atomic_lanes - line.atomic_addresses


_PER_ADDRESS: tuple[Amount, Amount] = (lambda x: x.atomic_lanes, lambda x: x.atomic_addresses)

GAUGES: Sequence[Gauge] = (
    Gauge("wavefronts-over-ideal", 1, True, 0.01,
          "every pass through shared memory beyond the ideal is a bank conflict",
          family="shared", amount=lambda x: x.wavefronts - x.wavefronts_ideal,
          shown=(lambda x: x.wavefronts, lambda x: x.wavefronts_ideal)),
    Gauge("wavefronts", 1, True, 0.01,
          "passes are exact also where the ideal of wide accesses is a model; more of them are "
          "conflicts only where they grow against that ideal",
          needs=("wavefronts-over-ideal",), family="shared",
          amount=lambda x: x.wavefronts - x.wavefronts_ideal,
          shown=(lambda x: x.wavefronts, lambda x: x.wavefronts_ideal)),
    Gauge("sectors-per-request", 1, True, 0.01,
          "an access whose lanes do not adjoin touches more sectors; a wider one does too, and "
          "then there are no more sectors in all",
          needs=("sectors",), family="sectors", amount=_sectors, shown=(_sectors, _requests)),
    Gauge("sectors", 1, True, 0.02,
          "the problem and its size are the same, so more sectors are fetched in vain or again",
          family="sectors", amount=_sectors, shown=(_sectors, _requests)),
    Gauge("global-atomics", 1, True, 0.01,
          "each goes to L2 and is served there one after the other",
          family="atomics", amount=lambda x: x.atomic_requests),
    Gauge("global-lanes-per-address", 1, False, 0.01,
          "lanes of a warp that meet on an address are served in turn",
          family="atomics", amount=_met, shown=_PER_ADDRESS),
    Gauge("shared-lanes-per-address", 1, False, 0.01,
          "lanes of a warp that meet on an address are served in turn",
          amount=_met, shown=_PER_ADDRESS),
    Gauge("acting-threads", -1, False, 0.01,
          "a warp takes as long with one lane at work as with 32",
          family="threads", amount=lambda x: WARP * x.warps - x.threads,
          shown=(lambda x: x.threads, lambda x: x.warps)),
    Gauge("branch-uniformity", -1, False, 0.01,
          "a warp whose lanes part ways goes both",
          family="threads", amount=lambda x: x.diverged),
    Gauge("instructions", 1, False, 0.01,
          "each takes an issue slot; machine code has others than PTX",
          amount=lambda x: x.warps),
    Gauge("barriers", 1, False, 0.01, "warps wait at each"),
    Gauge("distinct-bytes", 1, False, 0.01, "what the device's memory moves at the least"),
    Gauge("launches", 1, False, 0.0, "each has a cost of its own"),
)  # fmt: skip
"""In the order in which they are told."""


@dataclass(frozen=True)
class Moved:
    """A gauge's value before and after. decides: whether it closes a gate where it is worse."""

    gauge: Gauge
    base: Reading
    new: Reading
    is_worse: bool
    decides: bool
    place: Place | None
    """The line of source that it comes from, where lines were counted."""

    @property
    def size(self) -> float:
        """By how many times it moved; infinite from or to 0."""
        few, many = sorted((abs(self.base.value), abs(self.new.value)))
        return many / few if few else float("inf")


Values = Mapping[str, tuple[Reading, Reading]]


def moved(base: Side, new: Side, readings: tuple[Readings, Readings], timed: bool) -> list[Moved]:
    """The gauges that both sides have a value of, and that differ; those that decide come first.

    timed: whether both sides were, so that their times decide.
    """
    values: dict[str, tuple[Reading, Reading]] = {}
    for gauge in GAUGES:
        was = gauge.quantity.find(readings[0], base.planned)
        now = gauge.quantity.find(readings[1], new.planned)
        if (
            isinstance(was, Reading)
            and isinstance(now, Reading)
            and was.provenance == now.provenance  # else counted in two ways
        ):
            values[gauge.key] = was, now
    found = []
    for gauge in GAUGES:
        way = _way(gauge, values)
        if not way or any(_way(_BY_KEY[key], values) != way for key in gauge.needs):
            continue
        was, now = values[gauge.key]
        is_worse = way == gauge.worse
        decides = is_worse and gauge.decides and not timed and now.provenance in EXACT
        place = None
        if is_worse and gauge.amount:
            place = where(base, new, gauge.amount, gauge.shown)
        found.append(Moved(gauge, was, now, is_worse, decides, place))
    found.sort(key=lambda m: (not m.decides, not m.is_worse))
    return _one_of_each_family(found)


def _way(gauge: Gauge, values: Values) -> int:
    """1 where its value grew, −1 where it fell, 0 where it stayed or is not known."""
    if gauge.key not in values:
        return 0
    was, now = (reading.value for reading in values[gauge.key])
    return 0 if abs(now - was) <= gauge.tolerance * abs(was) else 1 if now > was else -1


def _one_of_each_family(found: Sequence[Moved]) -> list[Moved]:
    told: dict[str, Moved] = {}
    for each in found:
        told.setdefault(each.gauge.family or each.gauge.key, each)
    return list(told.values())


_BY_KEY = {gauge.key: gauge for gauge in GAUGES}
