"""Summaries and intervals compared with closed forms and simulation; verdicts compared with worked
examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.intervals import (
    Estimate,
    Interval,
    batch_time,
    certain,
    difference,
    estimate,
    hidden_by,
    over_placements,
    speedup,
    tick_of,
    time_of,
    verdict,
)


def placed(*placements: list[float]) -> dict[tuple[int, int], float]:
    return {(i, k): x for i, rounds in enumerate(placements) for k, x in enumerate(rounds)}


def test_a_batch_is_its_mean_without_the_tenth_at_either_end() -> None:
    assert batch_time([100.0] * 8 + [1.0, 9000.0]) == 100.0
    assert batch_time([10, 20, 3000]) == 20.0  # at least one time is left out at either end
    assert batch_time([10, 20]) == 15.0  # too few to leave any out


def test_a_mean_tells_apart_what_the_ticks_of_a_median_hide() -> None:
    # 32 ns ticks: a kernel of 6,440 ns is measured as 6,432 three times in four, otherwise as
    # 6,464.
    samples = [6432.0, 6432.0, 6432.0, 6464.0] * 25
    assert batch_time(samples) == pytest.approx(6437.6, abs=3)
    assert np.median(samples) == 6432


def test_a_placement_counts_once_however_many_rounds_it_has() -> None:
    assert over_placements(placed([1, 2, 9], [4], [5, 7])) == [2, 4, 6]


def test_of_one_placement_every_round_counts() -> None:
    assert over_placements(placed([3, 1, 2])) == [3, 1, 2]


def test_the_interval_is_students() -> None:
    logs = placed([0.1], [0.2], [0.3], [0.4])
    found = estimate(logs)
    assert found is not None
    low, high = stats.t.interval(0.95, 3, 0.25, stats.sem([0.1, 0.2, 0.3, 0.4]))
    interval = found.interval(0.95)
    assert interval.low == pytest.approx(math.exp(low))
    assert interval.high == pytest.approx(math.exp(high))
    assert interval.value == pytest.approx(math.exp(0.25))
    assert found.p_value() == pytest.approx(stats.ttest_1samp([0.1, 0.2, 0.3, 0.4], 0).pvalue)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_one_time_that_is_none_spoils_the_estimate(bad: float) -> None:
    good = placed([1.0], [1.0], [1.0], [2.0])
    assert time_of(good | {(9, 0): bad}) is None
    assert speedup(good, good | {(0, 0): bad}) is None


def test_two_placements_are_too_few() -> None:
    assert time_of(placed([1.0, 1.0], [2.0, 2.0])) is None
    assert time_of({}) is None
    assert speedup({}, {}) is None


def test_only_rounds_that_both_have_are_compared() -> None:
    base = placed([100.0, 900.0], [100.0], [100.0], [700.0])
    ratio = speedup(base, {(0, 0): 50.0, (1, 0): 50.0, (2, 0): 50.0})
    assert ratio is not None
    assert math.exp(ratio.mean) == pytest.approx(2.0)


@given(
    st.lists(st.tuples(st.floats(1, 1e9), st.floats(1, 1e9)), min_size=3, max_size=30),
    st.floats(0.6, 0.999),
)
def test_the_speed_up_of_a_over_b_is_the_reciprocal_of_that_of_b_over_a(
    pairs: list[tuple[float, float]], confidence: float
) -> None:
    a, b = ({(i, 0): pair[k] for i, pair in enumerate(pairs)} for k in (0, 1))
    there, back = speedup(a, b), speedup(b, a)
    assert there is not None
    assert back is not None
    one, other = there.interval(confidence), back.interval(confidence)
    assert one.value == pytest.approx(1 / other.value, rel=1e-6)
    assert one.low == pytest.approx(1 / other.high, rel=1e-6)
    assert one.low <= one.value <= one.high


def test_a_drift_that_both_share_leaves_no_trace() -> None:
    drift = np.exp(np.linspace(0, 1, 12))
    base = {(i, 0): 200.0 * d for i, d in enumerate(drift)}
    ratio = speedup(base, {at: t / 2 for at, t in base.items()})
    assert ratio is not None
    assert ratio.error == pytest.approx(0, abs=1e-12)


def test_the_interval_holds_the_truth_as_often_as_it_says_where_placements_differ() -> None:
    """Intervals over rounds would not contain the truth as often, because rounds share the effects
    of their placement."""
    rng = np.random.default_rng(8)
    hits = naive = 0
    for _ in range(2000):
        offsets = 0.01 * rng.standard_normal(8)
        logs = {(p, r): offsets[p] + 0.003 * rng.standard_normal() for p in range(8)
                for r in range(3)}  # fmt: skip
        found = estimate(logs)
        assert found is not None
        interval = found.interval(0.95)
        hits += interval.low <= 1 <= interval.high
        rounds = estimate({(0, i): x for i, x in enumerate(logs.values())})
        assert rounds is not None
        naive += (i := rounds.interval(0.95)).low <= 1 <= i.high
    assert hits >= stats.binom.ppf(1e-6, 2000, 0.95)
    assert naive < 0.85 * 2000


def test_the_step_of_the_clock_is_what_all_samples_are_multiples_of() -> None:
    assert tick_of([32.0 * i + 0.0004 for i in range(200, 210)]) == 32
    assert tick_of([1000.0 + i for i in range(10)]) == 1
    assert tick_of([64.0, 128.0] * 10) == 0, "too few different ones to tell"


def test_equal_samples_hide_half_a_step_and_scattered_ones_nothing() -> None:
    assert hidden_by(32, [6400.0] * 10) == pytest.approx(16 / 6400)
    assert hidden_by(32, [6368.0, 6400.0, 6432.0, 6464.0]) < 1e-4
    assert hidden_by(0, [1.0]) == 0
    assert hidden_by(32, []) == 0


def test_what_the_clock_hides_widens_the_interval_and_is_no_difference() -> None:
    exact = Estimate(0.002, 0.0, 8, resolution=0.0025)
    assert exact.p_value() == 1
    assert exact.interval(0.95).low < 1 < exact.interval(0.95).high
    assert Estimate(0.003, 0.0, 8, resolution=0.0025).p_value() == 0


def test_holms_procedure_stops_at_the_first_that_could_be_chance() -> None:
    # 0.01 ≤ 0.05 / 4, 0.016 ≤ 0.05 / 3, 0.03 > 0.05 / 2: the remaining ones are not tested.
    assert certain({"a": 0.01, "b": 0.03, "c": 0.016, "d": 0.04}, 0.05) == {"a", "c"}
    assert certain({}, 0.05) == set()


@pytest.mark.parametrize(
    ("ratio", "is_certain", "floor", "said"),
    [
        (Interval(1.02, 1.01, 1.03), True, 0.0, "faster"),
        (Interval(0.98, 0.97, 0.99), True, 0.0, "slower"),
        (Interval(1.02, 1.01, 1.03), True, 0.03, "unclear"),
        (Interval(1.02, 1.01, 1.03), False, 0.0, "unclear"),
        (Interval(1.001, 0.995, 1.006), False, 0.0, "same"),
        (Interval(1.007, 1.006, 1.008), True, 0.0, "same"),
        (Interval(0.9995, 0.9994, 0.9996), True, 0.0, "same"),
        (Interval(1.009, 1.005, 1.013), True, 0.0, "faster"),
        (Interval(1.001, 0.985, 1.006), False, 0.0, "unclear"),
        (None, True, 0.0, "invalid"),
    ],
)
def test_a_verdict_says_no_more_than_was_shown(
    ratio: Interval | None, is_certain: bool, floor: float, said: str
) -> None:
    assert verdict(ratio, is_certain, floor, 0.01) == said


def test_where_no_round_is_shared_the_whole_interval_must_lie_beyond_the_floor() -> None:
    across = Interval(1.04, 1.01, 1.07)
    assert verdict(across, True, 0.02, 0.01) == "faster"
    assert verdict(across, True, 0.02, 0.01, wholly=True) == "unclear"
    assert verdict(across.inverse(), True, 0.02, 0.01, wholly=True) == "unclear"
    assert verdict(across.inverse(), True, 0.005, 0.01, wholly=True) == "slower"


def test_the_difference_of_two_means_is_welchs() -> None:
    one, other = [0.1, 0.2, 0.3, 0.4, 0.35], [0.5, 0.9, 0.2]
    first, second = (estimate(placed(*([x] for x in xs))) for xs in (one, other))
    assert first is not None
    assert second is not None
    found = difference(first, second)
    wanted = stats.ttest_ind(one, other, equal_var=False)
    assert found.freedom == pytest.approx(wanted.df)
    assert found.p_value() == pytest.approx(wanted.pvalue)
    low, high = wanted.confidence_interval(0.95)
    interval = found.interval(0.95)
    assert interval.low == pytest.approx(math.exp(low))
    assert interval.high == pytest.approx(math.exp(high))


def test_the_difference_of_two_means_without_scatter_is_as_good_as_the_clock() -> None:
    one, other = Estimate(0.02, 0.0, 4, resolution=0.003), Estimate(0.0, 0.0, 9, resolution=0.004)
    found = difference(one, other)
    assert found.resolution == pytest.approx(0.005)
    assert found.freedom == 3
    assert found.p_value() == 0
    assert difference(one, one).p_value() == 1
