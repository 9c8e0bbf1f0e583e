"""Every reason that the harness words is parsed into its kind, cause and place."""

from __future__ import annotations

import numpy as np
import pytest

from harness.backends.base import BUSY, KEPT, LATE, Execution
from harness.emulator.results.faults import Fault
from harness.judge.reasons import FAULTS, of_compiler, of_launch
from harness.worker import cheat_check
from harness.worker.verify import check


@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_of_the_emulator_is_one(kind: str) -> None:
    fault = Fault(kind, "words: and more", "kernels/p/v.cu", 12, (0, 0, 0), (1, 0, 0))
    for text in (str(fault), f"in its machine code: {fault}", f"at n = 3: {fault}"):
        found = of_launch(text)
        assert (found.refusal, found.file, found.line) == ("fault", "kernels/p/v.cu", 12)


def test_the_kinds_of_faults_are_those_of_the_emulator() -> None:
    listed = str(Fault.__doc__).partition("one of")[2].partition(". `file`")[0]
    said = {each.strip(' "\n').replace("\n    ", " ") for each in listed.split(",")}
    assert said == set(FAULTS)


def execution(values: list[float]) -> Execution:
    return Execution({"y": np.array(values, np.float32)})


@pytest.mark.parametrize(
    ("values", "cause"),
    [([1, 2.5], "wrong values"), ([1, np.nan], "NaN"), ([1, np.inf], "infinite")],
)
def test_a_check_that_fails_is_wrong_with_its_element(values: list[float], cause: str) -> None:
    reason = check(execution(values), {"y": np.array([1.0, 2.0])}, {"y": 1e-3}).reason
    found = of_launch(reason)
    at = found.element
    assert (found.refusal, found.cause, at.array, at.index) == ("wrong", cause, "y", 1)
    if cause == "wrong values":
        assert (at.found, at.expected, at.bound) == (2.5, 2.0, 1e-3)
        assert (at.wrong, at.elements) == (1, 2)


@pytest.mark.parametrize("words", [KEPT, LATE, BUSY, cheat_check.STATE])
def test_the_words_of_a_shortcut_make_a_cheat(words: str) -> None:
    assert of_launch(f"while timed: {words}").refusal == "cheat"


@pytest.mark.parametrize(
    ("reason", "refusal", "cause"),
    [
        ("reads only 4 of 8 bytes of `x`; `y[1]` is wrong", "cheat", "reads only a part"),
        ("goes by what it finds in `y` (v.cu:3)", "cheat", "reuses an earlier result"),
        ("the input `x` was changed at element 3; if", "fault", "changes an input"),
        ("not done within 20 s, and stopped", "fault", "hang"),
        ("the process was ended by SIGSEGV", "fault", "crash"),
        ("problem.py: the reference of `y` is not usable", "cannot-tell", "the problem"),
        ("something that nobody has thought of", "cannot-tell", "not executed"),
    ],
)
def test_other_reasons_have_a_kind(reason: str, refusal: str, cause: str) -> None:
    found = of_launch(reason)
    assert (found.refusal, found.cause) == (refusal, cause)


def test_a_compilers_message_has_its_first_line() -> None:
    found = of_compiler('nvcc rejects a.cu:\na/b.cu(7): error: identifier "z" is undefined\n')
    assert (found.file, found.line) == ("a/b.cu", 7)
    assert of_compiler("nvcc was not found").line is None
