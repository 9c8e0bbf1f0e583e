"""Verdicts on timed kernels, from the records of committed runs on an H200."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import tables
from harness.judge.judging import verdicts
from harness.judge.verdicts import Verdict

RUNS = Path(__file__).parents[2] / "reports" / "h200"


def judged(problem: str, *kernels: str) -> list[Verdict]:
    return verdicts(tables.load(RUNS / problem), kernels, str)


@pytest.mark.parametrize(
    ("problem", "first", "other", "verdict"),
    [
        ("transpose", "v0_naive", "v4_float4_tile", "faster"),
        ("transpose", "v4_float4_tile", "v0_naive", "slower"),
        ("dot", "v2b_aligned_half2_atomic", "v3b_float32_accumulation", "same"),
    ],
)
def test_a_timed_kernel_is_compared_with_the_first(
    problem: str, first: str, other: str, verdict: str
) -> None:
    one, two = judged(problem, first, other)
    assert (one.verdict, one.speedup) == ("right", None)
    assert two.verdict == verdict
    assert two.is_right
    assert one.time_ns
    assert two.time_ns
    assert two.speedup
    assert two.speedup.low <= two.speedup.value <= two.speedup.high
    assert two.speedup.value == pytest.approx(one.time_ns.value / two.time_ns.value, rel=0.01)
    assert f"{two.speedup.value:.3g}" in two.text


def test_the_speed_up_is_the_ladders_own() -> None:
    run = tables.load(RUNS / "transpose")
    names = [p.variant for p in run.planned.values() if not p.is_library]
    kernels = list(dict.fromkeys(names))
    ladder = run.ladder("transpose")
    for each in judged("transpose", *kernels)[1:]:
        assert each.speedup
        assert each.speedup.value == pytest.approx(ladder.speedup[each.kernel])
        assert each.verdict == ladder.verdict[each.kernel]


def test_a_kernel_that_is_not_in_the_run_cannot_be_told() -> None:
    [_, missing] = judged("transpose", "v0_naive", "v9_of_nobody")
    assert missing.verdict == "cannot-tell"
    assert not missing.is_right
