"""Rounds excluded from all figures because the card was throttled or ran at an unusual clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from harness.journal.records import Round

CLOCK_TOLERANCE = 0.01
"""A round is left out if its multiprocessor clock deviates by more than this fraction from its
group's usual clock."""

SPOILED_BY = frozenset(
    {"HwSlowdown", "HwThermalSlowdown", "SwThermalSlowdown", "HwPowerBrakeSlowdown"}
)
"""Throttle reasons, as NVML names them, that spoil a round."""

At = tuple[int, int]
"""A placement and a round in it."""


def spoiled(rounds: Iterable[Round]) -> dict[At, str]:
    """A group's rounds that are left out entirely, and why.

    If most rounds ran at unusual clocks, these clocks are normal for the card, and no round is left
    out because of its clock.
    """
    found: dict[At, str] = {}
    clocks: dict[At, list[int]] = defaultdict(list)
    for r in rounds:
        at = r.placement, r.round
        clocks[at] += [r.sm_clock_hz] if r.sm_clock_hz else []
        for reason in r.throttle:
            if reason in SPOILED_BY:
                found[at] = f"throttled: {reason}"
    every = [clock for each in clocks.values() for clock in each]
    usual = median(every) if every else 0.0
    apart = {
        at: "another multiprocessor clock"
        for at, each in clocks.items()
        if at not in found and any(abs(clock - usual) > CLOCK_TOLERANCE * usual for clock in each)
    }
    return found | apart if 2 * len(apart) <= len(clocks) else found


def is_throttled_throughout(rounds: Iterable[Round]) -> bool:
    """Return whether the card was throttled in every one of these rounds."""
    throttled: dict[At, bool] = {}
    for r in rounds:
        at = r.placement, r.round
        throttled[at] = throttled.get(at, False) or not SPOILED_BY.isdisjoint(r.throttle)
    return bool(throttled) and all(throttled.values())
