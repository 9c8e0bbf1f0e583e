"""From timed batches to intervals, and from intervals to verdicts.

There are three levels, each with its own summary:

    launches of a batch      → their trimmed mean: drops outliers, averages out the clock's ticks
    rounds of a placement    → their median: a disturbed round has no effect
    placements               → a t interval: only these are independent of each other

A placement is a fresh process with fresh memory. Effects that are random but fixed within a process
vary between placements, so an interval over placements holds for the next run. Launches, and rounds
within one placement, share these effects and are never treated as independent (Kalibera and Jones,
"Rigorous benchmarking in reasonable time", ISMM 2013). docs/measurement.md has the experiments.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median
from typing import Literal, TypeVar

import numpy as np

Name = TypeVar("Name")
Verdict = Literal["faster", "slower", "same", "unclear", "invalid"]

Key = tuple[int, ...]
"""Placement and round, and the number of the batch if a round has several."""

Times = Mapping[Key, float]
"""A batch's time, in ns, for each placement and round."""

FEWEST = 3
"""An interval needs at least this many placements, or rounds if there is only one placement."""

FEWEST_TICKS = 8
"""The number of different samples that are needed to determine the clock's step."""

WIDEST = 200.0
"""The largest half-width of an interval of logarithms: a factor of 10**87, beyond which the bounds
of an interval between extreme values would overflow."""

_TRIMMED = 0.1
"""The share of a batch's launches that is left out at each end."""


@dataclass(frozen=True)
class Interval:
    """A value and its two-sided confidence interval, in one unit."""

    value: float
    low: float
    high: float

    def inverse(self) -> Interval:
        """The interval of the reciprocal: of B / A, given that of A / B."""
        return Interval(1 / self.value, 1 / self.high, 1 / self.low)


@dataclass(frozen=True)
class Estimate:
    """A mean of logarithms over independent units, with its known errors.

    `resolution`: the largest relative error due to the clock's ticks, which remains however many
    measurements are made. `bias`: the largest error of the mean if the correction for the events is
    too small. The events' cost shifts all figures of a card alike, so it largely cancels in
    differences.
    """

    mean: float
    error: float
    """Standard error of the mean."""
    units: int
    resolution: float = 0.0
    degrees: float | None = None
    """Degrees of freedom if the number of units does not determine them, as for a difference of two
    means."""
    bias: float = 0.0

    @property
    def unresolved(self) -> float:
        """The relative error that no number of measurements removes."""
        return math.hypot(self.resolution, self.bias)

    @property
    def freedom(self) -> float:
        return self.units - 1 if self.degrees is None else self.degrees

    def interval(self, confidence: float) -> Interval:
        """The interval of the exponential of the mean, by Student's t."""
        half = math.hypot(_students(confidence, self.freedom) * self.error, self.unresolved)
        half = min(half, WIDEST)
        return Interval(*(math.exp(self.mean + side * half) for side in (0, -1, 1)))

    def p_value(self) -> float:
        """The two-sided probability of a mean this large if the true mean is 0.

        The part of the mean that the clock's resolution and the events' cost could explain is
        subtracted first.
        """
        beyond = max(abs(self.mean) - self.unresolved, 0.0)
        if beyond == 0:
            return 1.0
        if self.error == 0:
            return 0.0
        from scipy.special import stdtr  # here, as no worker needs it

        return float(2 * stdtr(self.freedom, -beyond / self.error))


@cache
def _students(confidence: float, freedom: float) -> float:
    """The half-width of a two-sided interval in standard errors."""
    from scipy.special import stdtrit  # here, as no worker needs it

    return float(stdtrit(freedom, 0.5 + confidence / 2))


def batch_time(samples: Sequence[float]) -> float:
    """Summarise a batch of launch times, in ns: their mean, excluding a tenth at each end.

    With three launches or more, at least one is left out at each end.
    """
    cut = max(1, int(_TRIMMED * len(samples))) if len(samples) >= 3 else 0
    return fmean(sorted(samples)[cut : len(samples) - cut])


def over_placements(values: Times) -> list[float]:
    """Return one value per placement, the median over its rounds.

    With a single placement, return its rounds one by one: the result then holds for that process
    only.
    """
    several = len({key[0] for key in values}) > 1
    units: dict[Key, list[float]] = defaultdict(list)
    for key, value in sorted(values.items()):
        units[key[:1] if several else key[:2]].append(value)
    return [median(each) for each in units.values()]


def estimate(logs: Times, resolution: float = 0.0, bias: float = 0.0) -> Estimate | None:
    """The mean of logarithms; None if there are too few units or one of them is not finite."""
    units = over_placements(logs)
    if len(units) < FEWEST or not all(map(math.isfinite, units)):
        return None
    error = float(np.std(units, ddof=1)) / math.sqrt(len(units))
    return Estimate(fmean(units), error, len(units), resolution, bias=bias)


def time_of(times: Times, hidden: float = 0.0, in_doubt_ns: float = 0.0) -> Estimate | None:
    """Estimate the logarithm of a time in ns. `hidden`: the error that the clock's steps hide
    (`hidden_by`)."""
    if any(not (math.isfinite(t) and t > 0) for t in times.values()):
        return None
    bias = in_doubt_ns * fmean(1 / t for t in times.values()) if times else 0.0
    return estimate({key: math.log(t) for key, t in times.items()}, hidden, bias)


def speedup(
    baseline: Times, variant: Times, hidden: float = 0.0, in_doubt_ns: float = 0.0
) -> Estimate | None:
    """The logarithm of the speed-up of the variant: baseline / variant.

    Only rounds that both variants have are used; ratios are formed within each round. Logarithms
    make the speed-up of A over B the reciprocal of B's over A. `in_doubt_ns`: the maximum by which
    both times may be too long; its effect cancels if the times are equal.
    """
    pairs = {key: (baseline[key], variant[key]) for key in baseline.keys() & variant.keys()}
    if any(not (math.isfinite(t) and t > 0) for pair in pairs.values() for t in pair):
        return None
    bias = in_doubt_ns * fmean(1 / a - 1 / b for a, b in pairs.values()) if pairs else 0.0
    return estimate({key: math.log(a / b) for key, (a, b) in pairs.items()}, hidden, bias)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two independent means.

    The variances may differ, so the degrees of freedom are Welch's ("The generalization of
    'Student's' problem when several different population variances are involved", 1947).
    """
    parts = one.error**2, other.error**2
    error = math.sqrt(sum(parts))
    weights = sum(part**2 / e.freedom for part, e in zip(parts, (one, other), strict=True))
    degrees = sum(parts) ** 2 / weights if weights else min(one.freedom, other.freedom)
    resolution = math.hypot(one.resolution, other.resolution)
    units = min(one.units, other.units)
    bias = one.bias - other.bias
    return Estimate(one.mean - other.mean, error, units, resolution, degrees, bias)


def tick_of(samples: Sequence[float]) -> float:
    """The clock's step, in ns: the largest number that divides every sample.

    0 if there are too few different samples to determine it.
    """
    whole = np.unique(np.rint(np.asarray(samples, float)).astype(np.int64))
    return float(np.gcd.reduce(whole)) if len(whole) >= FEWEST_TICKS else 0.0


def hidden_by(tick: float, samples: Sequence[float]) -> float:
    """The largest relative error that a clock's steps leave in a mean of samples.

    The error is half a step if all samples are equal. If samples scatter by as little as half a
    step, the error averages out: a mean's error falls as exp(−2π² (σ / step)²) (Widrow and Kollár,
    "Quantization Noise", 2008, chapter 4).
    """
    values = np.asarray(samples, float)
    if not tick or not len(values):
        return 0.0
    scatter = float(np.std(values)) / tick
    return float(tick / 2 * math.exp(-2 * math.pi**2 * scatter**2) / np.mean(values))


def certain(p_values: Mapping[Name, float], error: float) -> set[Name]:
    """Select the differences that are real, with at most this probability that any of them is
    not.

    Holm's procedure ("A simple sequentially rejective multiple test procedure", 1979).
    """
    found: set[Name] = set()
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for i, (name, p) in enumerate(ordered):
        if p > error / (len(ordered) - i):
            break
        found.add(name)
    return found


def verdict(
    ratio: Interval | None, is_certain: bool, floor: float, same_within: float, wholly: bool = False
) -> Verdict:
    """Return the verdict on a speed-up, which is the same wherever the speed-up is reported.

    same: the whole interval lies within `same_within` of 1, however certain the difference is.
    faster, slower: the difference is certain among all that were compared (`certain`), and larger
    than the difference between equal kernels (`floor`, which is 0 unless such a difference was
    found). The value must exceed the floor; if the two runs share no round (`wholly`), the whole
    interval must exceed it. unclear: neither of these. invalid: no interval.
    """
    if ratio is None:
        return "invalid"
    if 1 / (1 + same_within) <= ratio.low and ratio.high <= 1 + same_within:
        return "same"
    if is_certain and (ratio.low if wholly else ratio.value) > 1 + floor:
        return "faster"
    if is_certain and (ratio.high if wholly else ratio.value) < 1 / (1 + floor):
        return "slower"
    return "unclear"
