"""What verified launches say about a launch shape."""

from __future__ import annotations

from dataclasses import replace

from harness.cases import Case
from harness.records import Verified
from harness.run.processes import Ended
from harness.run.qualification import judge

SMALL = Case("double", "v0", "float32", {"n": 8}, {"block": 64})
LARGE = replace(SMALL, sizes={"n": 1024})
OTHER = replace(SMALL, launch={"block": 128})


def verified(case: Case, draw: int = 0, reason: str = "") -> Verified:
    return Verified(
        case.problem, case.variant, case.dtype, case.sizes, case.launch,
        "test", draw, not reason, reason, None,
    )  # fmt: skip


def test_a_shape_whose_every_test_was_verified_on_both_draws_is_good() -> None:
    seen = [verified(SMALL, 0), verified(SMALL, 1)]
    assert judge([LARGE], [SMALL], [], seen, Ended()) == {}


def test_one_draw_is_not_enough() -> None:
    reasons = judge([LARGE], [SMALL], [], [verified(SMALL, 0)], Ended("not done in 5 s", SMALL.id))
    assert reasons == {LARGE.shape: f"not done in 5 s (while running {SMALL.id})"}


def test_a_wrong_result_is_the_reason_whatever_else_happened() -> None:
    seen = [verified(SMALL, 0, "`y[3]` is NaN")]
    reasons = judge([LARGE], [SMALL], [], seen, Ended("crashed", SMALL.id))
    assert reasons == {LARGE.shape: "at n = 8: `y[3]` is NaN"}


def test_a_fault_of_one_launch_shape_leaves_the_others_good() -> None:
    seen = [verified(SMALL, 0, "wrong"), verified(OTHER, 0), verified(OTHER, 1)]
    large_other = replace(LARGE, launch={"block": 128})
    assert set(judge([LARGE, large_other], [SMALL, OTHER], [], seen, Ended())) == {LARGE.shape}


def test_a_counted_size_that_was_not_reached_is_missing() -> None:
    seen = [verified(SMALL, 0), verified(SMALL, 1)]
    reasons = judge([LARGE], [SMALL], [LARGE], seen, Ended("crashed", LARGE.id))
    assert reasons == {LARGE.shape: "crashed"}


def test_a_shape_without_any_test_is_not_called_good() -> None:
    reasons = judge([LARGE], [], [], [], Ended())
    assert reasons == {LARGE.shape: "no test size runs at this launch shape"}
