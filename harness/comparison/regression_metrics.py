"""Counters that indicate a cost: which way is worse, from what size on, and why.

A regression metric decides (it can close a gate) if its value is exact on both sides: made by the
compiler, or counted by a rule that reproduces the hardware's counter. A value counted in PTX or
taken from a model is reported but decides nothing. If both sides were timed, the time alone
decides, and the metrics only report what changed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.analysis.causes.finders import Find
from harness.analysis.quantities import BY_KEY, Quantity
from harness.analysis.readings import NOTHING, Answer, Missing, Reading, Readings, weakest
from harness.comparison.lines import Amount, LineOfCode, where
from harness.comparison.pairs import Side
from harness.journal.counter_records import Provenance, SourceLine
from harness.journal.records import Planned
from harness.silicon.architectures import WARP_SIZE

EXACT = frozenset({"measured", "machine-exact", "emulator-exact"})
"""Origins of values that are the same to the digit whenever they are computed."""

_EMULATED = frozenset({"emulator-exact", "emulator-model"})
"""The direction of a change also shows if one side's value is exact and the other's a model."""


@dataclass(frozen=True)
class Gauge:
    """One regression metric.

    worse: 1 if more is worse, −1 if less is.
    tolerance: a relative change up to this size counts as none.
    needs: metrics that must have moved the same way for this one to count as worse.
    family: metrics that describe the same change; only the first is reported.
    amount: a source line's share of the cost.
    shown: two amounts of a line, whose quotient is the line's own figure.
    of_none: the value for a kernel that does none of it (without shared memory there are no bank
    conflicts); None if such a kernel cannot be compared.
    trades: a cost that may be justified by an improvement in a metric that decides, such as
    instructions for conflict-free accesses; only a time can weigh the two.
    """

    key: str
    worse: int
    decides: bool
    tolerance: float
    why: str
    needs: tuple[str, ...] = ()
    family: str = ""
    amount: Amount | None = None
    shown: tuple[Amount, Amount] | None = None
    of_none: float | None = None
    trades: bool = False
    find: Find | None = None
    """What is compared, if it is not the quantity itself."""

    @property
    def quantity(self) -> Quantity:
        return BY_KEY[self.key]

    @property
    def deciding(self) -> str:
        """Whether it closes a gate, in a word or a clause."""
        if self.trades:
            return "yes; where another got better, nobody can tell"
        return "yes" if self.decides else "no"


def _sectors(line: SourceLine) -> float:
    return line.sectors + line.store_sectors + line.atomic_sectors


def _requests(line: SourceLine) -> float:
    return line.requests + line.store_requests + line.atomic_requests


def _met(line: SourceLine) -> float:
    return line.atomic_lanes - line.atomic_addresses


def _warp_slots(readings: Readings, p: Planned) -> Answer:
    """The share of the machine's warp slots that the grid fills at a time.

    A share of only the blocks that fit would fall whenever more of them fit.
    """
    keys = "machine-fill", "theoretical-occupancy"
    fill, occupancy = (BY_KEY[key].find(readings, p) for key in keys)
    if isinstance(fill, Missing) or isinstance(occupancy, Missing):
        return fill if isinstance(fill, Missing) else occupancy
    return Reading(fill.value * occupancy.value, weakest([fill, occupancy]))


_PER_ADDRESS: tuple[Amount, Amount] = (lambda x: x.atomic_lanes, lambda x: x.atomic_addresses)

GAUGES: Sequence[Gauge] = (
    Gauge("wavefronts-over-ideal", 1, True, 0.01,
          "every pass through shared memory beyond the ideal is a bank conflict",
          family="shared", amount=lambda x: x.wavefronts - x.wavefronts_ideal,
          shown=(lambda x: x.wavefronts, lambda x: x.wavefronts_ideal), of_none=1.0),
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
    Gauge("global-atomics", 1, True, 0.0,
          "each goes to L2 and is served there one after the other",
          family="atomics", amount=lambda x: x.atomic_requests),
    Gauge("barriers", 1, True, 0.0,
          "warps wait at each; no compiler adds one, so that the first is one too many",
          trades=True),
    Gauge("requests", 1, True, 0.01,
          "where no more sectors come of them, a wide access has become several narrow ones",
          amount=_requests, trades=True),
    Gauge("instructions", 1, True, 0.01,
          "each takes an issue slot; machine code has others than PTX",
          amount=lambda x: x.warps, trades=True),
    Gauge("machine-fill", -1, True, 0.01,
          "a multiprocessor without a block does nothing", trades=True, find=_warp_slots),
    Gauge("global-lanes-per-address", 1, False, 0.01,
          "lanes of a warp that meet on an address are served in turn",
          family="atomics", amount=_met, shown=_PER_ADDRESS, of_none=1.0),
    Gauge("shared-lanes-per-address", 1, False, 0.01,
          "lanes of a warp that meet on an address are served in turn",
          amount=_met, shown=_PER_ADDRESS, of_none=1.0),
    Gauge("acting-threads", -1, False, 0.01,
          "a warp takes as long with one lane at work as with 32; the other way shows in its "
          "instructions",
          family="threads", amount=lambda x: WARP_SIZE * x.warps - x.threads,
          shown=(lambda x: x.threads, lambda x: x.warps)),
    Gauge("branch-uniformity", -1, False, 0.01,
          "a warp whose lanes part ways goes both, and executes the instructions of both",
          family="threads", amount=lambda x: x.diverged),
    Gauge("distinct-bytes", 1, False, 0.01, "what the device's memory moves at the least"),
    Gauge("launches", 1, False, 0.0, "each has a cost of its own"),
)  # fmt: skip
"""The regression metrics, in the order in which they are reported."""


@dataclass(frozen=True)
class Moved:
    """A regression metric before and after; None on a side whose kernel does none of it.

    decides: whether it closes a gate if it is worse.
    """

    gauge: Gauge
    base: Reading | None
    new: Reading | None
    is_worse: bool
    decides: bool
    place: LineOfCode | None
    """The line of source that it comes from, where lines were counted."""

    @property
    def size(self) -> float:
        """The factor by which it moved; infinite from or to 0."""
        few, many = sorted(abs(value) for value in _numbers(self.gauge, (self.base, self.new)))
        return many / few if few else float("inf")

    @property
    def provenance(self) -> Provenance:
        """The provenance of both values, or of the only one."""
        known = self.new or self.base
        assert known is not None
        return known.provenance

    @property
    def is_exact(self) -> bool:
        return self.provenance in EXACT


Both = tuple[Reading | None, Reading | None]
Values = Mapping[str, Both]


def moved(base: Side, new: Side, readings: tuple[Readings, Readings], timed: bool) -> list[Moved]:
    """The metrics for which both sides have a value and that differ, deciding ones first.

    timed: whether both sides were timed, so that their times decide.
    """
    values = _values(base, new, readings)
    found = []
    for gauge in GAUGES:
        way = _way(gauge, values)
        if not way or any(_way(_BY_KEY[key], values) != way for key in gauge.needs):
            continue
        both = values[gauge.key]
        if len(_origins(both)) > 1 or len(_sizes(both)) > 1:  # counted in two ways
            continue
        is_worse = way == gauge.worse
        place = None
        if is_worse and gauge.amount:
            place = where(base, new, gauge.amount, gauge.shown)
        each = Moved(gauge, *both, is_worse, False, place)
        decides = is_worse and gauge.decides and not timed and each.is_exact
        found.append(replace(each, decides=decides))
    found.sort(key=lambda m: (not m.decides, not m.is_worse))
    return _one_of_each_family(found)


def unsure(base: Side, new: Side, readings: tuple[Readings, Readings]) -> list[Gauge]:
    """The metrics that decide and seem to have got worse, by values that are not exact."""
    values = _values(base, new, readings)
    return [
        gauge for gauge in GAUGES
        if gauge.decides and gauge.key in values and not _origins(values[gauge.key]) <= EXACT
        and all(_moved(_BY_KEY[key], values) == gauge.worse for key in (gauge.key, *gauge.needs))
    ]  # fmt: skip


def _values(base: Side, new: Side, readings: tuple[Readings, Readings]) -> Values:
    """The values of the metrics that both sides have."""
    found: dict[str, Both] = {}
    for gauge in GAUGES:
        was = _value(gauge, readings[0], base)
        now = _value(gauge, readings[1], new)
        if not isinstance(was, Missing) and not isinstance(now, Missing):
            found[gauge.key] = was, now
    return found


def _value(gauge: Gauge, readings: Readings, side: Side) -> Reading | Missing | None:
    """None if the kernel does none of it, and that counts as something."""
    answer = (gauge.find or gauge.quantity.find)(readings, side.planned)
    return None if answer == NOTHING and gauge.of_none is not None else answer


def _origins(both: Both) -> set[Provenance]:
    return {reading.provenance for reading in both if reading}


def _sizes(both: Both) -> set[str]:
    return {reading.counted_at for reading in both if reading}


def _numbers(gauge: Gauge, both: Both) -> list[float]:
    of_none = gauge.of_none or 0.0
    return [reading.value if reading else of_none for reading in both]


def _way(gauge: Gauge, values: Values) -> int:
    """1 if its value grew, −1 if it fell, 0 if it stayed or is not known."""
    both = values.get(gauge.key)
    if both is None or not (len(_origins(both)) == 1 or _origins(both) == _EMULATED):
        return 0
    return _moved(gauge, values)


def _moved(gauge: Gauge, values: Values) -> int:
    """Compare two values of any provenance."""
    both = values.get(gauge.key)
    if both is None:
        return 0
    was, now = _numbers(gauge, both)
    return 0 if abs(now - was) <= gauge.tolerance * abs(was) else 1 if now > was else -1


def _one_of_each_family(found: Sequence[Moved]) -> list[Moved]:
    told: dict[str, Moved] = {}
    for each in found:
        told.setdefault(each.gauge.family or each.gauge.key, each)
    return list(told.values())


_BY_KEY = {gauge.key: gauge for gauge in GAUGES}
