"""Complete simulated runs, with the harness's own rounds, looks and selection of launch shapes.

`make benchmark-compare` simulates many more, with every noise model.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "timing"))

import comparisons


def _found(mode: str, noise: str, seeds: range) -> list[dict[str, float]]:
    return [comparisons.simulated(mode, noise, seed) for seed in seeds]


@pytest.mark.parametrize("noise", ["white", "outliers", "3 % slower as a whole"])
def test_two_runs_of_equal_kernels_blame_none_and_a_slower_one_is_found(noise: str) -> None:
    pairs = _found("two runs", noise, range(6))
    assert sum(pair["false"] for pair in pairs) <= 1
    assert all(pair["found_2pct"] or pair["cannot_tell"] for pair in pairs)
    assert sum(pair["found_2pct"] for pair in pairs) >= 5


def test_the_gate_opens_for_equal_kernels() -> None:
    assert sum(pair["passed"] for pair in _found("two runs", "white", range(6))) >= 5


@pytest.mark.parametrize("noise", ["autocorrelated", "slow placements"])
def test_one_run_that_cannot_tell_two_per_cent_says_so(noise: str) -> None:
    pairs = _found("one run", noise, range(3))
    assert all(pair["found_2pct"] or pair["cannot_tell"] for pair in pairs)
