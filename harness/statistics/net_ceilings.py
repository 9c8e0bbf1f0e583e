"""Ceilings over all placements, with the cost of the events around their launches subtracted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.journal.records import Ceiling, Round
from harness.statistics.intervals import Key, batch_time, time_of


def ceiling_over_placements(
    ceiling: Ceiling, rounds: Sequence[Round], confidence: float, cost_ns: float = 0.0
) -> Ceiling:
    """Return a ceiling, computed over all placements that measured it.

    `cost_ns`: the events' cost, subtracted from the time of each launch.
    """
    if ceiling.name == "empty_kernel" or not ceiling.work:
        return ceiling  # as measured by the events, because only a rate has a net time
    times: dict[Key, float] = {
        (i, 0): batch_time(r.samples_ns) - cost_ns
        for i, r in enumerate(rounds)
        if min(r.samples_ns, default=0.0) > cost_ns
    }
    found = time_of(times)
    if found is None:
        return _without_events(ceiling, cost_ns)
    time = found.interval(confidence)
    rates = tuple(round(ceiling.work / (ns * 1e-9), 3) for ns in times.values())
    value, low, high = (ceiling.work / (ns * 1e-9) for ns in (time.value, time.high, time.low))
    return replace(ceiling, value=value, low=low, high=high, samples=rates)


def _without_events(ceiling: Ceiling, cost_ns: float) -> Ceiling:
    """The rate after each launch's event cost is subtracted; unchanged if a launch does not take
    longer than the events."""
    rates = ceiling.value, ceiling.low, ceiling.high, *ceiling.samples
    times = [ceiling.work / rate - cost_ns * 1e-9 if rate else math.inf for rate in rates]
    if not cost_ns or min(times) <= 0:
        return ceiling
    value, low, high, *samples = (ceiling.work / time for time in times)
    rounded = tuple(round(rate, 3) for rate in samples)
    return replace(ceiling, value=value, low=low, high=high, samples=rounded)
