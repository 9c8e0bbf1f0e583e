"""The effects of a run: one that all its cases share, and a random one on each case.

Two runs of the same kernels differ. If the card is warmer, or its buffers are placed differently,
everything takes longer by the same factor: the run's **level**. Each kernel also has a run-specific
offset, which all its placements share, so its interval does not show it.

Both can be seen within one comparison as long as most kernels did not change. A case is compared
with the others of its round, so anything that affects them all cancels out, including drift and
jumping clocks. The remaining changes scatter more than their intervals suggest, by the size of the
run-specific offsets. That excess is estimated, and every interval allows for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

import numpy as np
import numpy.typing as npt

from harness.comparison.pairs import Side
from harness.statistics.intervals import Estimate, Key, Times, difference, estimate, over_placements

FEWEST_VARIANTS = 6
"""The minimum number of variants at a size; with fewer, their scatter cannot show how large a run's
random offsets are."""

FEWEST_WITNESSES = 2
"""The fewest cases of unchanged code that can distinguish a run's level from a change of the
kernels."""

_TRIMMED = 0.2
"""The share of a case's placements that is trimmed at each end: Yuen's usual fifth. Of 400
simulated pairs of runs with jumping clocks, 6 % report a change in equal kernels if a tenth is
trimmed, and 4 % if a fifth is."""

TRIMMED_IN_ROUNDS = 0.1
"""The same share within one run that has both sides. A disturbance in a round affects both, so a
tenth is enough; with a fifth, a gate opens for equal kernels much less often."""

_EFFICIENCY = 0.82
"""The efficiency of `qn` relative to the standard deviation, for normally distributed numbers. The
degrees of freedom are multiplied by this factor."""


@dataclass(frozen=True)
class Level:
    """The relation of one whole run to another, at one size and cache state.

    `moved`: the median logarithm of new time over base time. `witnesses`: the number of cases of
    unchanged code used; 0 if there were too few, in which case all were used. `luck`: the standard
    deviation of the run-specific offset of a case; None if there are too few cases.
    """

    moved: float
    witnesses: int
    luck: float | None


def taken_off(
    pairs: Mapping[int, tuple[Side, Side]],
    cache: str,
    raw: Mapping[int, Estimate],
    unchanged: Collection[int],
) -> tuple[dict[int, Estimate], Level]:
    """Correct the changes at one size and cache state for the run's level and its random offsets.

    `pairs`: number → base and new side. `raw`: the uncorrected logarithm of new over base of each
    pair. `unchanged`: the numbers of the pairs whose code is the same. With few variants, `raw` is
    returned unchanged.
    """
    told_by = [number for number in raw if number in unchanged]
    if len(told_by) < FEWEST_WITNESSES:
        told_by = []
    moved = median(raw[number].mean for number in told_by or raw)
    variants = len({pairs[number][1].planned.variant for number in raw})
    if variants < FEWEST_VARIANTS:
        return dict(raw), Level(moved, len(told_by), None)
    sides = [
        beside_others({
            pair[side].case: pair[side].run.timings.times(pair[side].case, cache)
            for number, pair in pairs.items() if number in raw
        })
        for side in (0, 1)
    ]  # fmt: skip
    found = {}
    for number, as_it_stands in raw.items():
        base, new = pairs[number]
        was, now = trimmed(sides[0][base.case]), trimmed(sides[1][new.case])
        if was and now:
            found[number] = replace(
                difference(now, was),
                resolution=as_it_stands.resolution, bias=as_it_stands.bias,
            )  # fmt: skip
    if len(found) < FEWEST_VARIANTS:
        return dict(raw), Level(moved, len(told_by), None)
    centre = median(found[number].mean for number in told_by or found if number in found)
    scatter = qn([each.mean for each in found.values()])
    luck = max(scatter**2 - median(each.error**2 for each in found.values()), 0.0)
    of_centre = math.pi / 2 * scatter**2 / len(told_by or found)  # of the median of this many
    freedom = _EFFICIENCY * (variants - 1)
    return (
        {number: _with(each, centre, luck, of_centre, freedom) for number, each in found.items()},
        Level(moved, len(told_by), math.sqrt(luck)),
    )


def _with(
    change: Estimate, centre: float, luck: float, of_centre: float, freedom: float
) -> Estimate:
    """Subtract the run's level from a change, and include the run's random offset in its error
    (Welch–Satterthwaite)."""
    own = change.error**2
    apart = (own**2 / change.freedom if own else 0.0) + luck**2 / freedom
    degrees = (own + luck) ** 2 / apart if apart else change.freedom
    return replace(
        change, mean=change.mean - centre, error=math.sqrt(own + luck + of_centre),
        degrees=degrees,
    )  # fmt: skip


def trimmed(logs: Times, share: float = _TRIMMED) -> Estimate | None:
    """The trimmed mean over placements, which a few disturbed placements do not affect.

    `share`: the share trimmed at each end if there are five placements or more. Yuen, "The
    two-sample trimmed t for unequal population variances", 1974.
    """
    whole = estimate(logs)
    units = sorted(over_placements(logs))
    cut = round(share * len(units)) if len(units) >= 5 else 0
    if whole is None or not cut:
        return whole
    left = len(units) - 2 * cut
    pulled_in = np.clip(units, units[cut], units[-cut - 1])
    squares = float(np.var(pulled_in)) * len(units)
    error = math.sqrt(squares / (left * (left - 1)))
    return Estimate(fmean(units[cut:-cut]), error, left)


def beside_others(times: Mapping[str, Times]) -> dict[str, dict[Key, float]]:
    """Map each case and round to the logarithm of its time relative to the other cases of the
    round.

    The others' level in a round is the median of their deviations from their own usual times. It is
    known only up to a constant of the run, which cancels in differences between cases. A round in
    which fewer than two others were timed is left out.
    """
    keys = sorted({key for of_case in times.values() for key in of_case})
    column = {key: number for number, key in enumerate(keys)}
    logs = np.full((len(times), len(keys)), np.nan)
    for row, of_case in enumerate(times.values()):
        for key, ns in of_case.items():
            logs[row, column[key]] = math.log(ns)
    off = logs - np.nanmedian(logs, axis=1, keepdims=True)
    found: dict[str, dict[Key, float]] = defaultdict(dict)
    for row, case in enumerate(times):
        others = np.delete(off, row, axis=0)
        enough = (np.isfinite(others).sum(axis=0) >= 2) & np.isfinite(logs[row])
        level = _medians(others[:, enough])
        for at, value in zip(np.flatnonzero(enough), logs[row, enough] - level, strict=True):
            found[case][keys[at]] = float(value)
    return {case: found[case] for case in times}


def _medians(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The median of each column, ignoring missing values."""
    if not values.size:
        return np.zeros(values.shape[1])
    found: npt.NDArray[np.float64] = np.nanmedian(values, axis=0)
    return found


def qn(values: Sequence[float]) -> float:
    """Estimate a standard deviation robustly, even if up to half of the values are far off.

    Rousseeuw and Croux, "Alternatives to the median absolute deviation", 1993, with the
    small-sample corrections of Croux and Rousseeuw, 1992: a quantile of all differences between two
    values.
    """
    n = len(values)
    every = np.asarray(values, float)
    apart = np.sort(np.abs(every[:, None] - every)[np.triu_indices(n, 1)])
    half = n // 2 + 1
    small = n / (n + 1.4) if n % 2 else n / (n + 3.8)
    return float(2.2219 * small * apart[half * (half - 1) // 2 - 1])
