"""NaN never passes, and every failure has its own name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.base import Execution
from harness.dtypes import numpy_dtype
from harness.worker.verify import Check, check

POISONED_FLOAT = np.full(4, 0xFF, np.uint8).view(np.float32)[0]


def checked(output: Any, expected: Any, bound: Any = 0.5, dtype: str = "float32") -> Check:
    execution = Execution({"out": np.asarray(output, numpy_dtype(dtype))})
    return check(execution, {"out": np.asarray(expected)}, {"out": bound})


def test_a_right_output_passes_with_its_largest_error_over_its_bound() -> None:
    found = checked([1.25, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert found == Check(True, "", 0.5)


@pytest.mark.parametrize(("output", "ok"), [(1.5, True), (0.5, True), (1.5000001, False)])
def test_the_bound_itself_passes_and_one_step_beyond_fails(output: float, ok: bool) -> None:
    assert checked([output], [1.0]).ok is ok


def test_a_bound_for_each_element_is_that_elements() -> None:
    assert checked([1.4, 2.0], [1.0, 2.0], np.array([0.5, 0.1])).ok
    found = checked([1.0, 2.4], [1.0, 2.0], np.array([0.5, 0.1]))
    assert not found.ok
    assert "worst [1] = 2.4" in found.reason


@pytest.mark.fault(
    "a tolerance of another shape than its output",
    outcome="the variant fails with the number of elements of both; no traceback",
)
def test_a_reference_and_its_bounds_may_be_matrices() -> None:
    assert checked([1.4, 2.0], [[1.0], [2.0]], np.array([[0.5], [0.1]])).ok
    found = checked([1.0, 2.0], [[1.0, 2.0]], np.zeros((3, 1)))
    assert not found.ok
    assert "problem.py: the tolerance of `out` has 3 elements, its reference 2" in found.reason


@pytest.mark.fault(
    "a reference or a tolerance with complex values",
    outcome="it is the problem's error, which names the output; no imaginary part is dropped",
)
def test_a_complex_reference_or_tolerance_is_the_problems_error() -> None:
    found = checked([1.0, 2.0], [1.0 + 1j, 2.0 + 1j])
    assert not found.ok
    assert found.reason.startswith("problem.py: the reference of `out` is complex; return its real")
    found = checked([1.0, 2.0], [1.0, 2.0], np.array([0.5j, 0.5j]))
    assert not found.ok
    assert found.reason.startswith("problem.py: the tolerance of `out` is complex")


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "is NaN"), (np.inf, "is infinite"), (-np.inf, "is infinite"),
                         (POISONED_FLOAT, "was never written"), (7.0, "is wrong: worst [2] = 7")]
)  # fmt: skip
def test_each_kind_of_wrong_has_its_name_and_place(value: float, words: str) -> None:
    found = checked([1.0, 1.0, value, 1.0], np.ones(4))
    assert not found.ok
    assert found.reason.startswith("`out[2]` ")
    assert words in found.reason
    assert "(1 of 4 elements)" in found.reason


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
def test_no_bound_is_wide_enough_for_what_is_no_number(dtype: str, value: float) -> None:
    assert not checked([value], [1.0], 1e300, dtype).ok


def test_a_nan_that_is_not_poison_is_not_called_unwritten() -> None:
    found = checked(np.array([0x7FC00000], np.uint32).view(np.float32), [1.0])
    assert "is NaN" in found.reason


def test_poison_is_recognised_among_other_mistakes() -> None:
    found = checked([5.0, np.nan, POISONED_FLOAT, POISONED_FLOAT], np.ones(4))
    assert found.reason == "`out[2]` was never written (2 of 4 elements)"


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_a_right_integer_that_equals_the_poison_passes(dtype: str) -> None:
    assert checked([-1, 3], [-1.0, 3.0], 0.5, dtype) == Check(True, "", 0.0)


def test_an_integer_left_as_poison_where_it_is_wrong_was_never_written() -> None:
    found = checked([-1, -1, 3], [-1.0, 2.0, 3.0], 0.5, "int32")
    assert found.reason == "`out[1]` was never written (1 of 3 elements)"


@pytest.mark.parametrize("expected", [np.nan, np.inf])
def test_a_reference_that_is_not_finite_is_the_problems_mistake(expected: float) -> None:
    found = checked([expected], [expected])
    assert not found.ok
    assert "problem.py: the reference or tolerance of `out` is not usable" in found.reason


@pytest.mark.parametrize("bound", [-1.0, np.nan, np.inf])
def test_a_bound_that_bounds_nothing_is_the_problems_mistake(bound: float) -> None:
    found = checked([1.0], [1.0], bound)
    assert not found.ok
    assert "problem.py" in found.reason


def test_a_tolerance_of_0_asks_for_the_exact_result() -> None:
    assert checked([1.0, -0.0], [1.0, 0.0], 0.0) == Check(True, "", 0.0)
    assert checked([3], [3.0], 0.0, "int32").ok
    found = checked([1.0, np.nextafter(np.float32(2), np.float32(3))], [1.0, 2.0], 0.0)
    assert not found.ok
    assert "worst [1] = 2.00000024, expected 2 ± 0" in found.reason
    json.dumps(found.error, allow_nan=False)


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, POISONED_FLOAT])
def test_a_tolerance_of_0_passes_no_nan(value: float) -> None:
    assert not checked([value], [1.0], 0.0).ok
    assert not checked([value], [0.0], 0.0).ok


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3", "float8_e5m2"])
def test_short_floats_are_compared_as_the_numbers_they_are(dtype: str) -> None:
    kind = numpy_dtype(dtype)
    assert checked(np.array([1.5, -2], kind), [1.5, -2.0], 0.0, dtype).ok
    assert "worst [0] = 1.5" in checked(np.array([1.5], kind), [1.0], 0.25, dtype).reason
    assert "is NaN" in checked(np.array([np.nan], kind), [1.0], 1e300, dtype).reason
    poison = np.full(kind.itemsize, 0xFF, np.uint8).view(kind)
    assert "was never written" in checked(poison, [1.0], 1e300, dtype).reason


def test_a_bool_is_right_only_as_0_or_1() -> None:
    assert checked([True, False], [1.0, 0.0], 0.0, "bool").ok
    assert not checked([True], [0.0], 0.0, "bool").ok
    poison = np.full(1, 0xFF, np.uint8).view(np.bool_)
    assert bool(poison[0])  # NumPy regards it as true
    assert "was never written" in checked(poison, [1.0], 0.5, "bool").reason
    assert "is wrong" in checked(np.full(1, 2, np.uint8).view(np.bool_), [1.0], 0.5, "bool").reason


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_of_64_bits_are_compared_before_they_are_rounded(dtype: str) -> None:
    large = 2**62 + 1  # which float64 cannot represent
    exact = np.array([large], dtype)
    assert checked(exact, exact, 0.0, dtype).ok
    assert not checked(exact - exact.dtype.type(1), exact, 0.5, dtype).ok
    if dtype == "int64":
        assert checked([-(2**62)], np.array([2**62]), 2.0**63, dtype).error == 1.0
        assert not checked([-(2**62)], np.array([2**62]), 2.0**62, dtype).ok


def test_an_output_of_another_length_fails() -> None:
    found = checked([1.0, 1.0], [1.0])
    assert not found.ok
    assert found.reason == "`out` has 2 elements, its reference 1"


def test_shapes_do_not_matter_where_the_elements_agree() -> None:
    assert checked(np.ones((2, 3)), np.ones(6)).ok


def test_an_output_that_the_reference_leaves_out_does_not_pass() -> None:
    execution = Execution({"out": np.ones(1, np.float32), "other": np.ones(1, np.float32)})
    found = check(execution, {"out": np.ones(1)}, {"out": 0.5})
    assert not found.ok
    assert "must give every output: out, other" in found.reason
    assert not check(Execution({"out": np.ones(1, np.float32)}), {}, {}).ok


def test_an_output_without_a_tolerance_does_not_pass() -> None:
    found = check(Execution({"out": np.ones(1, np.float32)}), {"out": np.ones(1)}, {})
    assert not found.ok
    assert "problem.py" in found.reason


def test_a_fault_fails_a_right_output() -> None:
    execution = Execution({"out": np.ones(1, np.float32)}, ("a guard byte was written", "more"))
    found = check(execution, {"out": np.ones(1)}, {"out": 0.5})
    assert found == Check(False, "a guard byte was written; more")


def test_the_worst_of_several_outputs_is_reported() -> None:
    outputs = {"a": np.array([1.1], np.float64), "b": np.array([1.2], np.float64)}
    ones = {"a": np.ones(1), "b": np.ones(1)}
    found = check(Execution(outputs), ones, {"a": 0.4, "b": 0.4})
    assert found.ok
    assert found.error == pytest.approx(0.5)


def test_the_second_output_is_checked_too() -> None:
    outputs = {"a": np.ones(1), "b": np.zeros(1)}
    found = check(Execution(outputs), {"a": np.ones(1), "b": np.ones(1)}, {"a": 0.5, "b": 0.5})
    assert not found.ok
    assert found.reason.startswith("`b[0]` is wrong")


def test_an_error_too_large_for_a_float_can_still_be_written_down() -> None:
    found = checked([1e308], [-1e308], 1e-300, "float64")
    assert not found.ok
    json.dumps(found.error, allow_nan=False)


@given(st.floats(width=32), st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_what_passes_is_within_its_bound(output: float, expected: float, bound: float) -> None:
    found = checked([output], [expected], bound)
    within = np.isfinite(output) and abs(float(np.float32(output)) - expected) / bound <= 1
    assert found.ok == bool(within)
