"""The judging process imports none of the judged code, and compares its reports with another
process's results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.backends.base import KEPT, Right, Seen
from harness.cases import Case
from harness.job import Job
from harness.journal.records import Outcome, Round
from harness.processes.judge import ONE_STATE, Judge

RIGHT = Right((1,), other=(2,))
SOUND = [Seen(False, (1,)), Seen(True, (2,))] * 4


@pytest.fixture
def case(double: Callable[..., Case]) -> Case:
    return double()


@pytest.fixture
def judge(case: Case) -> Judge:
    return Judge(Job("measure", "cuda", None, Path(), 1, cases=(case,), right={case.id: RIGHT}))


def a_round(case: str, number: int = 0, launches: int = 7, placement: int = 0) -> Round:
    return Round(case, "cold", number, False, (1000.0,) * launches, placement=placement)


def test_rounds_whose_launches_were_right_are_taken(judge: Judge, case: Case) -> None:
    for number in range(3):
        judge.launched(case.id, SOUND)
        assert judge.takes(a_round(case.id, number))
    assert judge.takes(Outcome(case.id, "ok"))
    assert judge.failed == {}


@pytest.mark.fault(
    "a function that replaces the checks of the process it is timed in, or writes a round of its "
    "own into that process's pipe",
    outcome="The run's own process, which imports none of it, holds each launch to what another "
    "process verified and each round to what was asked for: the case fails by name.",
)
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (Seen(True, (1,)), KEPT),
        (Seen(False, (2,)), KEPT),
        (Seen(False, (3,)), "wrong in 1 of 9 timed launches"),
        (Seen(True, ()), "wrong in 1 of 9 timed launches"),
    ],
)
def test_a_worker_whose_checks_say_nothing_is_judged_all_the_same(
    judge: Judge, case: Case, seen: Seen, words: str
) -> None:
    judge.launched(case.id, [*SOUND, seen])
    assert judge.failed == {case.id: f"while timed: {words}"}


def test_a_second_record_of_a_round_is_forged(judge: Judge, case: Case) -> None:
    judge.launched(case.id, SOUND * 2)
    assert judge.takes(a_round(case.id))
    assert not judge.takes(a_round(case.id))
    assert "something other than the harness wrote" in judge.failed[case.id]


def test_times_of_launches_that_were_not_reported_are_forged(judge: Judge, case: Case) -> None:
    judge.launched(case.id, SOUND)
    assert not judge.takes(a_round(case.id, launches=9))
    assert "launches that it did not report" in judge.failed[case.id]


def test_a_round_that_nobody_asked_for_ends_the_worker(judge: Judge, case: Case) -> None:
    with pytest.raises(ValueError, match="which it was not given"):
        judge.takes(a_round("another/case"))
    with pytest.raises(ValueError, match="which it was not given"):
        judge.takes(a_round(case.id, placement=7))
    with pytest.raises(ValueError, match="which it was not given"):
        judge.launched("another/case", SOUND)


def test_launches_of_a_single_state_tell_nothing(judge: Judge, case: Case) -> None:
    judge.launched(case.id, [Seen(False, (1,))] * ONE_STATE)
    assert "were all in one state" in judge.failed[case.id]


def test_what_varies_is_not_held_to_its_bits(judge: Judge, case: Case) -> None:
    judge.varies(case.id)
    judge.launched(case.id, [Seen(False, (77,)), Seen(True, (78,))])
    assert judge.failed == {}


def test_the_process_that_judges_imports_no_code_of_a_kernel() -> None:
    program = (
        "import sys, harness.run.runner, harness.processes.judge\n"
        "print([n for n in sys.modules if n.startswith('kernels_') or n in ('torch', 'pycuda')])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stdout.strip() == "[]", ended.stderr
