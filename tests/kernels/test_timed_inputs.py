"""Timed inputs are typical: no infinities, NaNs or subnormal numbers, and no buffer with a single
value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from own_repository import BENCH, ROOT

from harness.dtypes import is_float, numpy_dtype, rounded, smallest_normal
from harness.problem import Array, Problem, loading
from harness.worker.inputs import DRAWS, draws_when_timed, generator

SMALL_BY_NATURE = {("softmax_rows", "float16")}
"""If more than 2^14 quotients add up to 1, most are below the smallest normal half. They are
computed as floats, and rounding them to halves takes no longer than rounding others."""
OF_HALVES = 5e-3
"""The share of results in a narrow type that may be subnormal: some products and differences
are."""


def timed(name: str) -> Iterator[tuple[Problem, dict[str, int], str, Mapping[str, Array]]]:
    """The timed draw of every type, at the largest test size and at the smallest timed size."""
    problem, matrix = loading.load(ROOT / "kernels" / name), BENCH.problems[name]
    smallest = min(matrix.sizes.bench, key=lambda s: problem.work(s, matrix.dtypes[0]).bytes)
    largest = max(matrix.sizes.test, key=lambda s: problem.work(s, matrix.dtypes[0]).bytes)
    for dtype in matrix.dtypes:
        for sizes in (largest, smallest):
            rng = generator(1, name, dtype, str(sizes))
            yield problem, sizes, dtype, problem.inputs(sizes, dtype, rng, problem.timed_draw)


def subnormal(values: Array, dtype: str) -> Array:
    magnitudes = np.abs(values.astype(np.float64))
    return (magnitudes > 0) & (magnitudes < smallest_normal(dtype))


@pytest.mark.parametrize("name", BENCH.problems)
def test_no_timed_input_is_infinite_nan_subnormal_or_constant(name: str) -> None:
    for problem, sizes, dtype, inputs in timed(name):
        for buffer in problem.buffers(sizes, dtype):
            if buffer.role != "input":
                continue
            values = inputs[buffer.name].reshape(-1)
            assert values.size == 1 or len(np.unique(values)) > 1, (buffer.name, sizes)
            if is_float(buffer.dtype):
                assert np.all(np.isfinite(values.astype(np.float64))), (buffer.name, sizes)
                assert not np.any(subnormal(values, buffer.dtype)), (buffer.name, sizes, dtype)


@pytest.mark.parametrize("name", BENCH.problems)
def test_no_timed_result_is_infinite_or_nan_and_hardly_one_subnormal(name: str) -> None:
    for problem, sizes, dtype, inputs in timed(name):
        reference = problem.reference(sizes, dtype, inputs)
        for buffer in problem.buffers(sizes, dtype):
            if buffer.role != "output" or not is_float(buffer.dtype):
                continue
            exact = np.asarray(reference[buffer.name]).reshape(-1)
            assert np.all(np.isfinite(exact.astype(numpy_dtype(buffer.dtype)).astype(np.float64)))
            if (name, buffer.dtype) in SMALL_BY_NATURE:
                continue
            most = 0 if buffer.dtype == "float32" else OF_HALVES
            assert np.mean(subnormal(exact, buffer.dtype)) <= most, (buffer.name, sizes, dtype)


def test_every_problem_says_what_is_timed_for_its_page() -> None:
    said = {n: loading.load(ROOT / "kernels" / n).timed_inputs for n in BENCH.problems}
    assert [name for name, text in said.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("name", ["softmax", "softmax_rows"])
def test_logits_whose_quotients_are_subnormal_are_verified_and_not_timed(name: str) -> None:
    problem, matrix = loading.load(ROOT / "kernels" / name), BENCH.problems[name]
    sizes = matrix.sizes.bench[0]
    found = []
    for draw in (*DRAWS, problem.timed_draw):
        inputs = problem.inputs(sizes, "float32", generator(1, name, draw), draw)
        quotients = problem.reference(sizes, "float32", inputs)["output"]
        found.append(bool(np.any(subnormal(quotients, "float32"))))
    assert found == [True, False, False]
    assert draws_when_timed(problem) == (2, 1)


def test_other_problems_are_timed_on_draw_0_and_verified_on_both() -> None:
    assert draws_when_timed(loading.load(ROOT / "kernels" / "copy")) == (0, 1)


def test_numbers_below_the_normal_ones_of_a_half_are_rounded_to_0_and_others_as_ever() -> None:
    values = np.array([1 / 3, 2.0**-14, 2.0**-15, -(2.0**-20), 0.0, 7e4], np.float32)
    with np.errstate(over="ignore"):
        half = rounded(values, "float16")
        assert half.tolist() == [float(np.float16(1 / 3)), 2.0**-14, 0.0, 0.0, 0.0, np.inf]
    assert half.dtype == np.float16
    assert np.array_equal(rounded(values, "float32"), values)
