"""Libraries get the same images as the kernels, with the channels last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.cases import Case
from harness.problem import loading
from harness.worker.inputs import Inputs
from harness.worker.states import other_state

SIZES = {"n": 2, "c": 3, "h": 7, "w": 5, "out": 9, "k": 3, "rows": 7}


@pytest.mark.parametrize("draw", [0, 1])
def test_channels_last_holds_the_same_values_in_another_order(draw: int) -> None:
    problem = loading.load(Path(__file__).parents[2] / "kernels" / "conv2d")
    given = problem.inputs(SIZES, "float32", np.random.default_rng(1), draw)
    x = given["x_channels_last"].reshape(2, 7, 5, 3)
    weights = given["weights_channels_last"].reshape(9, 3, 3, 3)
    assert np.array_equal(np.moveaxis(x, 3, 1).reshape(-1), given["x"])
    assert np.array_equal(np.moveaxis(weights, 3, 1).reshape(-1), given["weights"])
    assert not np.array_equal(given["x_channels_last"], given["x"])


def test_the_other_state_of_timed_inputs_is_the_same_in_both_orders() -> None:
    problem = loading.load(Path(__file__).parents[2] / "kernels" / "conv2d")
    case = Case("conv2d", "any", "float32", SIZES)
    found = other_state(problem, case, Inputs(problem, case, 1, problem.timed_draw))
    assert found is not None
    changes, other = found
    assert changes.keys() == {"x", "weights", "x_channels_last", "weights_channels_last"}
    layouts = problem.layouts(SIZES, "float32", other.values)
    assert all(np.array_equal(other.values[name], array) for name, array in layouts.items())
