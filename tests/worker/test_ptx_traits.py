"""Remarks on a variant's instructions, and properties that need no remark."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.problem.loading import load
from harness.worker.ptx_traits import expected_precisions

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


@pytest.mark.parametrize(
    ("problem", "dtype", "sizes", "expected"),
    [
        ("sgemm_tf32", "float32", {"m": 1, "n": 1, "k": 1},
         {"single", "to single", "tf32", "to tf32"}),
        ("sgemm", "float32", {"m": 1, "n": 1, "k": 1}, {"single", "to single"}),
        ("elementwise_mul_half", "float16", {"n": 1}, {"half", "to half", "single", "to single"}),
    ],
)  # fmt: skip
def test_a_precision_that_is_the_problems_own_goes_without_saying(
    problem: str, dtype: str, sizes: dict[str, int], expected: set[str]
) -> None:
    case = SimpleNamespace(sizes=sizes, dtype=dtype)
    assert expected_precisions(load(KERNELS / problem), cast(Any, [case])) == expected
