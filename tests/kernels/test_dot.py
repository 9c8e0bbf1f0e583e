"""The error of a sum in 16 bits, which the random signs of the problem's own inputs hide."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from own_repository import BENCH

from harness.backends.emulated_device import emulated_device
from harness.compiler import toolchain
from harness.dtypes import BY_NAME, numpy_dtype
from harness.emulator import Module, launch, parse
from harness.matrix import plan
from harness.problem import loading

KERNELS = Path(__file__).parents[2] / "kernels"
IN_HALVES = ("v0_block_reduce_atomic", "v1b_half2", "v2b_aligned_half2_atomic")
IN_FLOATS = ("v3b_float32_accumulation", "v4b_eight_halves")


@cache
def compiled(source: str, dtype: str = "float16") -> Module:
    """A file of kernels/dot, compiled once for all tests of a process."""
    with tempfile.TemporaryDirectory() as folder:
        return parse(_ptx(source, dtype, Path(folder) / "dot.ptx"))


def _ptx(source: str, dtype: str, ptx: Path) -> str:
    command = [toolchain.find().nvcc, "-O3", "-std=c++17", "-arch=sm_90", f"-I{KERNELS}",
               f"-DDTYPE={BY_NAME[dtype].cpp}", "-ptx", str(KERNELS / "dot" / source),
               "-o", str(ptx)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return ptx.read_text()


def dot(variant: str, values: np.ndarray, dtype: str = "float16") -> float:
    """The inner product of `values` with ones, launched as in the matrix."""
    cases = plan.cases_at(BENCH, emulated_device("sm_90"), "dot", [{"n": len(values)}])
    case = next(c for c in cases if c.variant == variant and c.dtype == dtype)
    module, numpy = compiled(case.source, dtype), numpy_dtype(dtype)
    buffers: dict[str, np.ndarray] = {
        "a": values.astype(numpy),
        "b": np.ones(len(values), numpy),
        "output": np.full(1, np.nan, numpy),
        "pair": np.full(2, np.nan, numpy),
        "total": np.full(1, np.nan, np.float32),
    }
    for step in case.steps:
        arguments: list[Any] = [buffers.get(str(arg), arg) for arg in step.args]
        report = launch(module, step.kernel, step.grid, step.block, arguments)
        assert not report.faults, str(report.faults[0])
    return float(buffers["output"][0])


@pytest.mark.parametrize("variant", [*IN_HALVES, *IN_FLOATS])
def test_small_terms_vanish_in_a_sum_of_halves_and_not_in_one_of_floats(
    variant: str,
) -> None:
    # Halves near 4096 are 4 apart, so each added 1.5 is rounded away. The emulator lets block 0
    # be the first to add its sum.
    n = 64 * 1024
    values = np.zeros(n)
    values[0] = 4096
    values[512::512] = 1.5
    exact = float(values.sum())
    error = abs(dot(variant, values) - exact)
    assert (error > 64) == (variant in IN_HALVES), error
    assert variant in IN_HALVES or error <= 2, error


@pytest.mark.parametrize("variant", [*IN_HALVES, *IN_FLOATS])
def test_terms_vanish_in_a_sum_of_bfloat16_that_halves_would_hold(variant: str) -> None:
    # bfloat16 numbers near 512 are 4 apart; halves are 0.5 apart.
    n = 64 * 1024
    values = np.zeros(n)
    values[0] = 512
    values[512::512] = 1.5
    exact = float(values.sum())
    error = abs(dot(variant, values, "bfloat16") - exact)
    assert (error > 64) == (variant in IN_HALVES), error
    assert variant in IN_HALVES or error <= 2, error


@pytest.mark.parametrize("variant", [*IN_HALVES, *IN_FLOATS])
def test_a_sum_past_the_largest_half_is_held_by_bfloat16(variant: str) -> None:
    values = np.zeros(2 * 1024)
    values[::1024] = 60_000
    assert dot(variant, values, "bfloat16") == float(ml_dtypes.bfloat16(120_000))


@pytest.mark.parametrize("variant", [*IN_HALVES, *IN_FLOATS])
def test_a_partial_sum_past_the_largest_half_is_lost_in_halves_and_not_in_floats(
    variant: str,
) -> None:
    # The first blocks read only the value 60000, and the sum of two of these exceeds a half's
    # range.
    values = np.full(2 * 1024, 60_000.0)
    values[1024:] = -60_000
    found = dot(variant, values)
    assert np.isfinite(found) == (variant in IN_FLOATS)
    assert variant in IN_HALVES or found == 0


def test_the_widest_loads_are_right_where_the_arrays_start_between_two_packs(
    tmp_path: Path,
) -> None:
    text = """
#include "common/pack.cuh"
#pragma push_macro("__global__")
#undef __global__
#define __global__ __device__
#include "dot/v4b_eight_halves.cu"
#pragma pop_macro("__global__")
extern "C" __global__ void shifted(const __half* a, const __half* b, float* total, size_t n) {
    dot(a + 1, b + 1, total, n);
}
"""
    path = tmp_path / "shifted.cu"
    path.write_text(text)
    module = compiled(str(path))
    a = np.arange(-300, 722, dtype=np.float16)
    total = np.zeros(1, np.float32)
    report = launch(module, "shifted", 2, 64, [a, np.ones_like(a), total, len(a) - 1])
    assert not report.faults, str(report.faults[0])
    assert total[0] == a[1:].astype(np.float64).sum()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_blocks_that_add_in_any_order_are_right_where_the_terms_have_a_drift(dtype: str) -> None:
    # As in the other state of timed inputs, in which the changed elements are the largest of many.
    n, blocks, orders = 2**20, 1056, 2000
    rng = np.random.default_rng(1)
    problem = loading.load(KERNELS / "dot")
    inputs = dict(problem.inputs({"n": n}, dtype, rng, problem.timed_draw))
    for name in ("a", "b"):
        inputs[name] = inputs[name].copy()
        inputs[name][:: n // 4096] = 0.875
    products = inputs["a"].astype(np.float64) * inputs["b"]
    sums = np.array([part.sum() for part in np.array_split(products, blocks)])
    sums = sums.astype(numpy_dtype(dtype))
    order = np.argsort(rng.random((blocks, orders)), axis=0)
    total = np.zeros(orders, sums.dtype)
    for row in sums[order]:
        total += row
    errors = np.abs(total.astype(np.float64) - products.sum())
    allowed = float(np.max(problem.tolerance({"n": n}, dtype, inputs)["output"]))
    assert np.max(errors) < allowed, (float(np.max(errors)), allowed)
