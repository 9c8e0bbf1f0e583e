"""Counters that indicate a cost, before and after: which changed, by how much, and at which line.

A quantity's `gauge` in harness/quantities/quantities.yaml defines which counters these are, the
smallest relevant change, and why.

A regression metric decides (it can close a gate) if its value is exact on both sides: compiler
output, or counted by a rule that reproduces the hardware's counter. A value counted in PTX or taken
from a model is reported but decides nothing. If both sides were timed, the time alone decides, and
the metrics only report what else changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness import quantities
from harness.analysis.finders import FINDERS, Find, evaluate
from harness.analysis.readings import (
    JUDGES,
    NOTHING,
    Answer,
    Missing,
    Reading,
    Readings,
    weakest,
)
from harness.comparison.lines import Amount, LineOfCode, Quotient, where
from harness.comparison.pairs import Side
from harness.journal.counter_records import Provenance
from harness.journal.records import Planned
from harness.quantities import Gauge
from harness.silicon.architectures import WARP_SIZE

EXACT = JUDGES - {"ncu"}
"""Origins of values that come out exactly the same every time they are computed."""

_EMULATED = frozenset({"emulator-exact", "emulator-model"})
"""Origins of emulated values. They show the direction of a change even if one side's value is exact
and the other's modelled."""


def _warp_slots(readings: Readings, p: Planned) -> Answer:
    """The fraction of the machine's warp slots that the grid fills at any one time.

    Dividing by the number of blocks that fit would lower the fraction whenever more blocks fit.
    """
    keys = "machine-fill", "theoretical-occupancy"
    fill, occupancy = (evaluate(key, readings, p) for key in keys)
    if isinstance(fill, Missing) or isinstance(occupancy, Missing):
        return fill if isinstance(fill, Missing) else occupancy
    return Reading(fill.value * occupancy.value, weakest([fill, occupancy]))


GAUGES: Sequence[Gauge] = [
    quantities.GAUGES[key]
    for key in (
        "wavefronts-over-ideal", "wavefronts", "sectors-per-request", "sectors", "global-atomics",
        "barriers", "requests", "instructions", "machine-fill", "global-lanes-per-address",
        "shared-lanes-per-address", "acting-threads", "branch-uniformity", "distinct-bytes",
        "launches",
    )
]  # fmt: skip
"""The regression metrics, in the order in which they are reported."""

_FINDERS: Mapping[str, Find] = {**FINDERS, "machine-fill": _warp_slots}
"""Metric → its finder; `machine-fill` is compared by warp slots."""

_AMOUNTS: Mapping[str, Amount] = {
    "wavefronts-over-ideal": lambda x: x.conflicts,
    "wavefronts": lambda x: x.conflicts,
    "sectors-per-request": lambda x: x.every_sector,
    "sectors": lambda x: x.every_sector,
    "global-atomics": lambda x: x.atomic_requests,
    "requests": lambda x: x.every_request,
    "instructions": lambda x: x.warps,
    "global-lanes-per-address": lambda x: x.atomic_lanes - x.atomic_addresses,
    "shared-lanes-per-address": lambda x: x.atomic_lanes - x.atomic_addresses,
    "acting-threads": lambda x: WARP_SIZE * x.warps - x.threads,
    "branch-uniformity": lambda x: x.diverged,
}
"""Metric → a source line's share of the cost."""

_CONFLICTS: Quotient = (lambda x: x.wavefronts, lambda x: x.wavefronts_ideal)
_COALESCING: Quotient = (lambda x: x.every_sector, lambda x: x.every_request)
_ADDRESSES: Quotient = (lambda x: x.atomic_lanes, lambda x: x.atomic_addresses)
_LINES: Mapping[str, Quotient] = {
    "wavefronts-over-ideal": _CONFLICTS, "wavefronts": _CONFLICTS,
    "sectors-per-request": _COALESCING, "sectors": _COALESCING,
    "global-lanes-per-address": _ADDRESSES, "shared-lanes-per-address": _ADDRESSES,
    "acting-threads": (lambda x: x.threads, lambda x: x.warps),
}  # fmt: skip
"""Metric → the two amounts whose quotient is a line's own figure."""


@dataclass(frozen=True)
class Moved:
    """A regression metric before and after; None on a side where it does not occur.

    `decides`: whether a regression in this metric fails the gate.
    """

    gauge: Gauge
    base: Reading | None
    new: Reading | None
    is_worse: bool
    decides: bool
    place: LineOfCode | None
    """The source line that the change comes from, if lines were counted."""

    @property
    def size(self) -> float:
        """The factor of the change; infinite if the change is from or to 0."""
        few, many = sorted(abs(value) for value in _numbers(self.gauge, (self.base, self.new)))
        return many / few if few else float("inf")

    @property
    def provenance(self) -> Provenance:
        """The provenance of both values, or of the one that exists."""
        known = self.new or self.base
        assert known is not None
        return known.provenance

    @property
    def is_exact(self) -> bool:
        return self.provenance in EXACT


Both = tuple[Reading | None, Reading | None]
Values = Mapping[str, Both]


def moved(base: Side, new: Side, readings: tuple[Readings, Readings], timed: bool) -> list[Moved]:
    """The metrics that have a value on both sides and differ between them, deciding ones first.

    `timed`: whether both sides were timed, in which case times, not counters, decide.
    """
    values = _values(base, new, readings)
    found = []
    for gauge in GAUGES:
        way = _way(gauge, values)
        if not way or any(_way(quantities.GAUGES[key], values) != way for key in gauge.needs):
            continue
        both = values[gauge.key]
        if len(_origins(both)) > 1 or len(_sizes(both)) > 1:  # counted in different ways
            continue
        is_worse = way == gauge.worse
        place = None
        if is_worse and gauge.key in _AMOUNTS:
            place = where(base, new, _AMOUNTS[gauge.key], _LINES.get(gauge.key))
        each = Moved(gauge, *both, is_worse, False, place)
        decides = is_worse and gauge.decides and not timed and each.is_exact
        found.append(replace(each, decides=decides))
    found.sort(key=lambda m: (not m.decides, not m.is_worse))
    return _one_of_each_family(found)


def unsure(base: Side, new: Side, readings: tuple[Readings, Readings]) -> list[Gauge]:
    """The deciding metrics that seem to have become worse, judging by inexact values."""
    values = _values(base, new, readings)
    return [
        gauge for gauge in GAUGES
        if gauge.decides and gauge.key in values and not _origins(values[gauge.key]) <= EXACT
        and all(_moved(quantities.GAUGES[key], values) == gauge.worse
                for key in (gauge.key, *gauge.needs))
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
    """Evaluate a metric. None means that the metric does not apply to the kernel; it is compared
    like any other value.
    """
    answer = _FINDERS[gauge.key](readings, side.planned)
    return None if answer == NOTHING and gauge.of_none is not None else answer


def _origins(both: Both) -> set[Provenance]:
    return {reading.provenance for reading in both if reading}


def _sizes(both: Both) -> set[str]:
    return {reading.counted_at for reading in both if reading}


def _numbers(gauge: Gauge, both: Both) -> list[float]:
    of_none = gauge.of_none or 0.0
    return [reading.value if reading else of_none for reading in both]


def _way(gauge: Gauge, values: Values) -> int:
    """1 if the metric's value grew, −1 if it fell, 0 if it stayed the same or is unknown."""
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
        told.setdefault(each.gauge.family, each)
    return list(told.values())
