"""A function that returns a result that it has not computed is reported by name; its honest twin
passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from station import Station

from harness.backends.base import KEPT, LATE
from harness.worker.timing import CHANGED

Outcome = Callable[..., tuple[str, str]]

CAUGHT = {
    "keep_answer": f"while timed: {KEPT}",
    "keep_by_shape": f"before timing{CHANGED}: `output[",  # which is verified as well
    "work_late": f"while timed: {LATE}",
    "patch_checks": f"while timed: {KEPT}",  # reported by a process that it cannot reach
    "forge": "while timed: its worker sent two records of one round",
}
HONEST = ("honest1", "honest2", "hash_inputs")


@pytest.mark.fault(
    "a variant that keeps answers, or that is not done when it says so",
    outcome="The inputs of timed launches are in one of two states, by a secret bit for each: it "
    "fails as `it gave the answer for inputs that it did not have`, and costs the others nothing.",
)
def test_a_kept_answer_and_late_work_fail_by_name(station: Station, outcome: Outcome) -> None:
    run = station.run(*HONEST, *CAUGHT)
    for variant, words in CAUGHT.items():
        status, reason = outcome(run, variant)
        assert status == "failed", variant
        assert reason.startswith(words)
    for variant in HONEST:
        assert outcome(run, variant) == ("ok", ""), variant
    assert not run.remarks


@pytest.mark.fault(
    "inputs of which not every number may take another's place, such as sorted ones, unsaid",
    outcome="Where no variant is right for changed inputs, none fails for that: each is said not "
    "to have been told apart.",
)
def test_where_all_variants_are_wrong_for_changed_inputs_the_change_is_to_blame(
    station: Station, outcome: Outcome
) -> None:
    path = station.folder / "kernels" / "double" / "problem.py"
    text = path.read_text().replace("from harness", "import numpy\nfrom harness", 1)
    text = text.replace("rng.random(sizes[\"n\"], dtype=dtype) + 1",
                        "numpy.sort(rng.random(sizes[\"n\"], dtype=dtype) + 1)")  # fmt: skip
    text = text.replace('2.0 * inputs["input"]', '2.0 * numpy.sort(inputs["input"])')
    path.write_text(text)
    run = station.run("honest1", "honest2")
    for variant in ("honest1", "honest2"):
        assert outcome(run, variant) == ("ok", "")
        [remark] = run.remarks["double", variant]
        assert "its timed launches were not told apart" in remark.text


@pytest.mark.fault(
    "a problem in whose results no small change of its inputs is seen",
    outcome="Each of its variants is said not to have been told apart from a kept answer.",
)
def test_launches_that_are_not_told_apart_are_said_to_be(
    station: Station, outcome: Outcome
) -> None:
    path = station.folder / "kernels" / "double" / "problem.py"
    path.write_text(path.read_text().replace("1e-6", "1e30"))
    run = station.run("honest1", "keep_answer")
    for variant in ("honest1", "keep_answer"):
        assert outcome(run, variant) == ("ok", "")
        [remark] = run.remarks["double", variant]
        assert "its timed launches were not told apart" in remark.text
