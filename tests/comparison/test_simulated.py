"""Whole simulated runs, measured by the harness's own rounds, looks and choice of shapes.

`make benchmark-compare` does many more, with every model of noise.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "timing"))

import comparisons
import verdicts


def _found(model: str, slowdown: float, seeds: range) -> list[dict[str, float]]:
    noise: Any = verdicts.MODELS[model]
    return [comparisons.compared(noise, slowdown, seed) for seed in seeds]


@pytest.mark.parametrize("model", ["white", "outliers"])
def test_a_ladder_compared_with_itself_passes(model: str) -> None:
    pairs = _found(model, 0.0, range(10))
    assert sum(pair["passed"] for pair in pairs) >= 9


def test_a_slowdown_of_one_per_cent_is_found_and_nothing_else() -> None:
    pairs = _found("white", 0.01, range(100, 106))
    assert all(pair["found"] for pair in pairs)
    assert sum(pair["others"] for pair in pairs) <= 1
