"""Cases of the persistent matrix products that the matrix's sizes do not reach: a cluster that
computes several tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from own_repository import BENCH

from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.matrix import plan
from harness.problem import loading
from harness.run.emulated.emulate import by_front_end
from harness.worker.inputs import Inputs

WHOLE_NUMBERS = 1
"""The draw whose sums are exact."""


@pytest.mark.parametrize(
    ("name", "variant", "blocks", "layout"),
    [
        ("gemm_bf16", "v8_tensor_memory_stores", 4, {}),
        ("gemm_bf16", "v10_narrow_overlapping_steps", 10, {}),
        ("gemm_fp8", "v1_warpgroup_pipeline", 4, {}),
        ("gemm_fp8", "v2_narrow_tiles", 10, {}),
        ("gemm_fp8", "v3_promoted_sums", 6, {}),
        ("gemm_layouts", "v1_warpgroup_pipeline", 4, {"a_by": 1, "b_by": 1}),
        ("gemm_layouts", "v1_warpgroup_pipeline", 4, {"a_by": 2, "b_by": 1}),
        ("gemm_layouts", "v1_warpgroup_pipeline", 4, {"a_by": 2, "b_by": 2}),
    ],
)
def test_one_cluster_makes_all_tiles_one_after_the_other(
    name: str, variant: str, blocks: int, layout: dict[str, int]
) -> None:
    """There are two tiles of 256 × 256, three of 256 × 128 or five of 256 × 64, the last mostly
    outside c; the ring buffer continues from one to the next.

    Machine code gives bit-identical results.
    """
    sizes = {"m": 200, "n": 264, "k": 144, **layout}
    cases = plan.cases_at(BENCH, emulated_device("sm_90"), name, [sizes])
    case = next(
        each for each in cases
        if each.variant == variant and each.dtype == "bfloat16"
    )  # fmt: skip
    [step] = case.steps
    assert step.grid == (blocks, 1, 1)
    case = replace(case, steps=(replace(step, grid=(2, 1, 1)),))
    found, machine = by_front_end(BENCH, case, "sm_90", draw=WHOLE_NUMBERS)
    problem = loading.load(BENCH.kernels / name)
    inputs = Inputs(problem, case, BENCH.timing.seed, WHOLE_NUMBERS).values
    wanted = problem.reference(sizes, case.dtype, inputs)["c"]
    bound = problem.tolerance(sizes, case.dtype, inputs)["c"]
    assert isinstance(machine, Execution), machine
    assert found.faults == machine.faults == ()
    assert machine.outputs["c"].tobytes() == found.outputs["c"].tobytes()
    assert np.all(np.abs(found.outputs["c"].astype(float).reshape(wanted.shape) - wanted) <= bound)
