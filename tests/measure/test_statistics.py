"""Intervals against binomial arithmetic and simulation; verdicts against worked cases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from harness.measure.statistics import Interval, median_interval, noise_floor, speedup, verdict


def ranks(n: int, confidence: float) -> tuple[int, int] | None:
    """Which of n sorted values bound the median: the k-th from either end, counted in Fractions.

    The chance that fewer than k of n values lie below the median is Σ C(n, i) / 2^n, i < k.
    """
    k, missed = 0, Fraction(0)
    while True:
        missed += Fraction(math.comb(n, k), 2**n)
        if 2 * missed > 1 - Fraction(confidence):
            return (k, n + 1 - k) if k else None
        k += 1


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.98, 0.99, 0.999])
def test_the_interval_is_the_order_statistics_that_the_binomial_gives(confidence: float) -> None:
    for n in range(1, 41):
        found = median_interval([float(i) for i in range(1, n + 1)], confidence)
        expected = ranks(n, confidence)
        assert (found and (found.low, found.high)) == expected, n


def test_twenty_rounds_give_the_sixth_and_the_fifteenth() -> None:
    # 2 (1 + 20 + 190 + 1140 + 4845 + 15504) / 2^20 = 0.0414; with 38760 more it is 0.1153.
    values = [float(i) for i in range(20, 0, -1)]
    assert median_interval(values, 0.95) == Interval(10.5, 6.0, 15.0)


@pytest.mark.parametrize(("confidence", "fewest"), [(0.95, 6), (0.99, 8), (0.999, 11)])
def test_too_few_values_give_no_interval(confidence: float, fewest: int) -> None:
    # The extremes of n values miss the median with chance 2 / 2^n.
    assert 2 / 2**fewest <= 1 - confidence < 2 / 2 ** (fewest - 1)
    assert median_interval([1.0] * (fewest - 1), confidence) is None
    assert median_interval([1.0] * fewest, confidence) == Interval(1.0, 1.0, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_value_that_is_no_number_spoils_the_interval(bad: float) -> None:
    assert median_interval([1.0] * 10 + [bad], 0.95) is None


def test_no_values_have_no_interval() -> None:
    assert median_interval([], 0.95) is None


@pytest.mark.parametrize("n", [6, 7, 12, 20, 21])
def test_the_interval_covers_the_median_at_least_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(20)
    trials = 1500
    # Skewed and of two humps: no distribution is assumed. Its median is 1.
    draws = np.where(rng.random((trials, n)) < 0.5, rng.random((trials, n)) ** 3,
                     1 + rng.exponential(size=(trials, n)))  # fmt: skip
    intervals = [median_interval(list(row), 0.95) for row in draws]
    hits = sum(i is not None and i.low <= 1 <= i.high for i in intervals)
    # 0.95 of the trials, less what chance allows once in a million such tests.
    assert hits >= binom.ppf(1e-6, trials, 0.95)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=30))
def test_the_median_lies_in_its_interval_and_the_interval_in_the_values(
    values: list[float],
) -> None:
    found = median_interval(values, 0.95)
    assert found is not None
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
    assert {found.low, found.high} <= set(values)


def at(times: list[float]) -> dict[int, float]:
    return dict(enumerate(times))


def test_a_speedup_is_the_median_of_the_rounds_ratios() -> None:
    baseline = [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0]
    variant = [50.0, 50.0, 100.0, 100.0, 100.0, 100.0, 100.0]  # 2, 4, 3, 4, 5, 6, 7
    found = speedup(at(baseline), at(variant), 0.95)
    assert found is not None
    assert found.median == pytest.approx(4.0)
    assert (found.low, found.high) == (pytest.approx(2.0), pytest.approx(7.0))


def test_drift_common_to_both_cancels() -> None:
    drift = [1.0, 1.7, 0.6, 2.4, 1.1, 0.9, 3.0, 1.3]
    found = speedup(at([300 * d for d in drift]), at([200 * d for d in drift]), 0.95)
    assert found is not None
    assert found.low == pytest.approx(1.5)
    assert found.high == pytest.approx(1.5)


@given(
    st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(1.0, 1e6)), min_size=6, max_size=25),
)
def test_the_speedup_of_a_over_b_is_the_reciprocal_of_b_over_a(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = at([p[0] for p in pairs]), at([p[1] for p in pairs])
    there, back = speedup(a, b, 0.95), speedup(b, a, 0.95)
    assert there is not None
    assert back is not None
    assert there.median == pytest.approx(1 / back.median)
    assert there.low == pytest.approx(1 / back.high)
    assert there.high == pytest.approx(1 / back.low)


def test_only_rounds_that_both_have_count() -> None:
    baseline = dict.fromkeys(range(10), 100.0) | {20: 1.0}
    variant = dict.fromkeys(range(4, 10), 50.0) | {30: 1.0}
    assert speedup(baseline, variant, 0.95) == Interval(*[pytest.approx(2.0)] * 3)
    assert speedup(baseline, dict.fromkeys(range(5, 10), 50.0), 0.95) is None
    assert speedup(baseline, {}, 0.95) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_a_time_that_is_none_gives_no_speedup(bad: float) -> None:
    good = at([1.0] * 8)
    assert speedup(good, {**good, 3: bad}, 0.95) is None
    assert speedup({**good, 3: bad}, good, 0.95) is None


@pytest.mark.parametrize(
    ("repeats", "floor"),
    [
        ([Interval(1.0, 1.0, 1.0)], 0.0),
        ([Interval(1.001, 0.999, 1.003)], 0.003),
        ([Interval(1.0, 0.99, 1.003)], 1 / 0.99 - 1),  # as much too fast as too slow
        ([Interval(1.0, 1.0, 1.001), Interval(1.0, 1.0, 1.02)], 0.02),
        ([Interval(1.05, 1.04, 1.06)], 0.06),  # a bias is noise too
    ],
)
def test_the_noise_floor_is_what_no_repeat_can_exclude(
    repeats: list[Interval], floor: float
) -> None:
    assert noise_floor(repeats) == pytest.approx(floor)


def test_without_a_repeat_the_noise_floor_is_unknown_and_not_zero() -> None:
    assert noise_floor([]) == math.inf


@pytest.mark.parametrize(
    ("low", "high", "floor", "expected"),
    [
        (1.20, 1.30, 0.01, "faster"),
        (1.011, 1.30, 0.01, "faster"),
        (1.01, 1.30, 0.01, "unclear"),  # not beyond the floor
        (0.70, 0.80, 0.01, "slower"),
        (0.70, 1 / 1.0101, 0.01, "slower"),
        (0.70, 1 / 1.0099, 0.01, "unclear"),
        (0.995, 1.005, 0.01, "same"),
        (1 / 1.01, 1.01, 0.01, "same"),
        (1 / 1.01, 1.01, 0.02, "unclear"),
        (0.98, 1.005, 0.01, "unclear"),
        (0.995, 1.02, 0.01, "unclear"),
        (0.5, 2.0, 0.01, "unclear"),
        (1.05, 1.08, 0.1, "unclear"),
        (1.20, 1.30, math.inf, "invalid"),
        (1.20, 1.30, math.nan, "invalid"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_floor(
    low: float, high: float, floor: float, expected: str
) -> None:
    assert verdict(Interval((low + high) / 2, low, high), floor, 0.01) == expected


def test_without_an_interval_there_is_no_verdict() -> None:
    assert verdict(None, 0.01, 0.01) == "invalid"


@given(st.floats(0.5, 2.0), st.floats(0.0, 0.5), st.floats(0.0, 0.2))
def test_faster_one_way_is_slower_the_other(low: float, width: float, floor: float) -> None:
    ratio = Interval(low, low, low + width)
    back = Interval(1 / low, 1 / (low + width), 1 / low)
    if verdict(ratio, floor, 0.01) == "faster" and low > (1 + floor) * 1.000001:
        assert verdict(back, floor, 0.01) == "slower"
    assert verdict(Interval(math.nan, math.nan, math.nan), floor, 0.01) not in (
        "faster",
        "slower",
        "same",
    )
