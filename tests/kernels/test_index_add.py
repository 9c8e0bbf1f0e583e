"""The tolerance of index_add in 16 bits: atomic additions round each time, in any order."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.problem import numpy_dtype
from harness.problem.loading import load

ROOT = Path(__file__).parents[2]
ROWS, SUMS = 1024, 40_000


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_errors_fall_tenfold_for_each_deviation_and_the_tolerance_is_twelve_beyond_that(
    dtype: str,
) -> None:
    problem: Any = load(ROOT / "kernels/index_add")
    deviations = sys.modules["kernels_index_add_problem"].DEVIATIONS
    sizes = {"rows": ROWS, "cols": SUMS, "targets": 1}
    inputs = problem.inputs(sizes, dtype, np.random.default_rng(5), 0)
    rows = inputs["source"].reshape(ROWS, SUMS)
    added = np.zeros(SUMS, numpy_dtype(dtype))
    for row in rows:
        added += row
    right = problem.reference(sizes, dtype, inputs)["output"].reshape(-1)
    apart = np.abs(added.astype(np.float64) - right)
    deviation = problem.tolerance(sizes, dtype, inputs)["output"].reshape(-1) / deviations
    assert deviations >= 16
    assert np.mean(apart > 3 * deviation) < 1e-3
    assert np.mean(apart > 4 * deviation) < 1e-4
    assert np.max(apart / deviation) > 3  # the deviation is no larger than the errors require
