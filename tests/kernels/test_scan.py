"""A case of the scan that the matrix's sizes do not reach: a block that handles more tiles than its
ring has slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from own_repository import BENCH

from harness.backends.base import Execution
from harness.backends.emulated_device import emulated_device
from harness.matrix import plan
from harness.problem import loading
from harness.run.emulated.emulate import by_front_end
from harness.worker.inputs import Inputs

TILE = 24 * 384  # floats
WHOLE_NUMBERS = 1
"""The draw whose sums are exact."""


def test_two_blocks_take_eight_tiles_each_and_pass_their_sums_on() -> None:
    """The last tile is not full."""
    sizes = {"n": 15 * TILE + 77}
    cases = plan.cases_at(BENCH, emulated_device("sm_90"), "scan", [sizes])
    case = next(each for each in cases if each.variant == "v6_look_ahead")
    reset, scan = case.steps
    assert scan.grid == (16, 1, 1)
    case = replace(case, steps=(reset, replace(scan, grid=(2, 1, 1))))
    found, machine = by_front_end(BENCH, case, "sm_90", draw=WHOLE_NUMBERS)
    problem = loading.load(BENCH.kernels / "scan")
    inputs = Inputs(problem, case, BENCH.timing.seed, WHOLE_NUMBERS).values
    assert isinstance(machine, Execution), machine
    assert found.faults == machine.faults == ()
    assert machine.outputs["output"].tobytes() == found.outputs["output"].tobytes()
    wanted = problem.reference(sizes, case.dtype, inputs)["output"]
    assert np.array_equal(found.outputs["output"], wanted)
