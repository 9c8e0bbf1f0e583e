"""Medians with exact intervals, paired ratios, and the verdict that follows from them.

The unit is a round. Launches within a batch are autocorrelated (clocks, temperature, what the
cache holds), so a batch becomes one number, its median, and only rounds are treated as independent.
docs/measurement.md explains why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

Verdict = Literal["faster", "slower", "same", "unclear", "invalid"]


@dataclass(frozen=True)
class Interval:
    """A median and its two-sided confidence interval, in the unit of the values."""

    median: float
    low: float
    high: float


def median_interval(values: Sequence[float], confidence: float) -> Interval | None:
    """The median with its exact order-statistic interval, which assumes no distribution.

    None where there are too few values for the confidence (fewer than 6 for 95 %), or where any
    value is not finite.
    """
    if not values or not all(map(math.isfinite, values)):
        return None
    test = stats.quantile_test(np.asarray(values), q=0.0, p=0.5)
    interval: Any = test.confidence_interval(confidence_level=confidence)
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return Interval(float(np.median(values)), float(interval.low), float(interval.high))


def speedup(
    baseline: Mapping[int, float], variant: Mapping[int, float], confidence: float
) -> Interval | None:
    """How many times faster the variant is: the median over rounds of baseline / variant.

    Both map a round to that round's time; only rounds that both have count. Computed on
    logarithms, so that the speed-up of A over B is the reciprocal of B's over A.
    """
    shared = sorted(baseline.keys() & variant.keys())
    times = [(baseline[i], variant[i]) for i in shared]
    if any(not (math.isfinite(t) and t > 0) for pair in times for t in pair):
        return None
    logs = median_interval([math.log(a / b) for a, b in times], confidence)
    return logs and Interval(math.exp(logs.median), math.exp(logs.low), math.exp(logs.high))


def noise_floor(repeats: Sequence[Interval]) -> float:
    """The largest relative difference that A/A comparisons cannot exclude: 0.003 means 0.3 %.

    repeats: speed-ups of a baseline over itself, each of which is truly 1.
    """
    return max((max(r.high, 1 / r.low) - 1 for r in repeats), default=math.inf)


def verdict(ratio: Interval | None, floor: float, same_within: float) -> Verdict:
    """What a speed-up with its interval allows to be said, given the noise floor.

    faster, slower: the whole interval lies beyond the floor. same: the whole interval lies within
    `same_within` of 1, and so does the floor. unclear: neither. invalid: there is no interval, or
    no floor.
    """
    if ratio is None or not math.isfinite(floor):
        return "invalid"
    if ratio.low > 1 + floor:
        return "faster"
    if ratio.high < 1 / (1 + floor):
        return "slower"
    near = ratio.low >= 1 / (1 + same_within) and ratio.high <= 1 + same_within
    if near and floor <= same_within:
        return "same"
    return "unclear"
