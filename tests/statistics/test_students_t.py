from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from harness.statistics.intervals import Estimate
from harness.statistics.students_t import half_width, tail

FREEDOM = st.integers(1, 300).map(float) | st.floats(0.5, 10_000)


@given(FREEDOM, st.floats(1e-6, 1e3))
def test_a_tail_is_scipys(freedom: float, beyond: float) -> None:
    expected = float(special.stdtr(freedom, -beyond))
    # Near 0, SciPy is wrong by up to 3e-11.
    assert tail(freedom, beyond) == pytest.approx(expected, rel=1e-10, abs=1e-290)


@given(FREEDOM, st.floats(0.01, 0.999_999_999))
def test_a_half_width_is_scipys(freedom: float, confidence: float) -> None:
    expected = -float(special.stdtrit(freedom, (1 - confidence) / 2))
    assert half_width(confidence, freedom) == pytest.approx(expected, rel=1e-10)


@given(FREEDOM, st.floats(0.01, 0.999_999))
def test_a_half_width_leaves_out_what_it_should(freedom: float, confidence: float) -> None:
    outside = 2 * tail(freedom, half_width(confidence, freedom))
    assert outside == pytest.approx(1 - confidence, rel=1e-12)


@pytest.mark.parametrize("beyond", [1e-3, 0.5, 1.0, 3.0, 40.0])
def test_with_one_degree_or_two_the_tail_has_a_closed_form(beyond: float) -> None:
    assert tail(1, beyond) == pytest.approx(math.atan2(1, beyond) / math.pi, rel=1e-13)
    root = math.sqrt(2 + beyond * beyond)
    assert tail(2, beyond) == pytest.approx(1 / (root * (root + beyond)), rel=1e-13)


def test_the_ends_are_exact() -> None:
    assert tail(5, 0.0) == 0.5
    assert tail(5, math.inf) == tail(5, 1e200) == 0.0
    assert half_width(0.0, 5) == 0.0
    assert half_width(1.0, 5) == math.inf


def test_an_interval_needs_no_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    estimate = Estimate(0.5, 0.01, 6)
    assert estimate.interval(0.987).low < math.exp(0.5)
    assert 0 < estimate.p_value() < 1e-6
