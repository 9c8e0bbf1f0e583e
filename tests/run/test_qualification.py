"""The status of a launch shape that follows from verified launches."""

from __future__ import annotations

from dataclasses import replace

from harness.cases import Case
from harness.journal.records import Verified
from harness.processes.workers import Ended
from harness.run.qualification import Judged, guilty, judge

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
    assert judge([LARGE], [SMALL], [], seen) == Judged({}, [])


def test_one_draw_is_not_enough() -> None:
    judged = judge([LARGE], [SMALL], [], [verified(SMALL, 0)])
    assert judged == Judged({}, [LARGE.shape])
    ended = Ended("not done in 5 s", SMALL.id)
    assert guilty(judged, [SMALL], ended) == {LARGE.shape: "not done in 5 s"}


def test_a_wrong_result_is_the_reason_whatever_else_happened() -> None:
    seen = [verified(SMALL, 0, "`y[3]` is NaN")]
    judged = judge([LARGE], [SMALL], [], seen)
    assert judged == Judged({LARGE.shape: "at n = 8: `y[3]` is NaN"}, [])
    assert guilty(judged, [SMALL], Ended("crashed", SMALL.id)) == {}


def test_a_wrong_result_is_said_once_and_its_cause_beside_it() -> None:
    wrong = verified(SMALL, 0, "`y[3]` is wrong: worst [3] = 2, expected 1 ± 0")
    again = replace(verified(SMALL, 0, "`y[0]` is wrong: worst [0] = 4"), phase="scrutiny")
    judged = judge([LARGE], [SMALL], [], [wrong, again])
    assert judged.wrong[LARGE.shape] == f"at n = 8: {wrong.reason}"
    race = replace(verified(SMALL, 0, "v0.cu:7: race"), phase="scrutiny")
    judged = judge([LARGE], [SMALL], [], [wrong, again, race])
    assert judged.wrong[LARGE.shape] == (
        f"at n = 8: {wrong.reason}; in the emulator at n = 8: v0.cu:7: race"
    )


def test_a_fault_of_one_launch_shape_leaves_the_others_good() -> None:
    seen = [verified(SMALL, 0, "wrong"), verified(OTHER, 0), verified(OTHER, 1)]
    large_other = replace(LARGE, launch={"block": 128})
    assert set(judge([LARGE, large_other], [SMALL, OTHER], [], seen).wrong) == {LARGE.shape}


def test_a_shape_that_takes_the_worker_down_is_blamed_and_those_that_never_ran_are_not() -> None:
    large_other = replace(LARGE, launch={"block": 128})
    judged = judge([LARGE, large_other], [SMALL, OTHER], [], [verified(OTHER, 0)])
    assert judged.unfinished == [LARGE.shape, large_other.shape]
    assert guilty(judged, [SMALL, OTHER], Ended("crashed", SMALL.id)) == {LARGE.shape: "crashed"}


def test_where_nothing_says_who_was_running_all_that_is_unfinished_is_blamed() -> None:
    judged = judge([LARGE], [SMALL], [], [])
    assert guilty(judged, [SMALL], Ended("crashed")) == {LARGE.shape: "crashed"}


def test_a_counted_size_that_was_not_reached_is_missing() -> None:
    seen = [verified(SMALL, 0), verified(SMALL, 1)]
    judged = judge([LARGE], [SMALL], [LARGE], seen)
    assert guilty(judged, [SMALL, LARGE], Ended("crashed", LARGE.id)) == {LARGE.shape: "crashed"}


def test_a_shape_without_any_test_is_not_called_good() -> None:
    judged = judge([LARGE], [], [], [])
    assert judged.wrong == {LARGE.shape: "no test size runs at this launch shape"}
