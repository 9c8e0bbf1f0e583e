"""The judgement on two runs: outcomes, exit codes, and undecided comparisons."""

from __future__ import annotations

import pytest
from two_runs import IDEAL, WAVEFRONTS, Kernel, emulated, name_of, run

from harness.comparison import judge
from harness.journal.records import Remark
from harness.tables import Run

FAILED = Kernel(None, status="failed", reason="wrong result")
SKIPPED = Kernel(None, status="skipped", reason="too large")
SOUND = Kernel(None)


def both(was: Kernel, now: Kernel) -> tuple[Run, Run]:
    return run({"v0": SOUND, "v1": was}), run({"v0": SOUND, "v1": now})


@pytest.mark.parametrize(
    ("was", "now", "kind", "code"),
    [
        (SOUND, SOUND, "identical", 0),
        (SOUND, FAILED, "newly faulty", 1),
        (SKIPPED, FAILED, "newly faulty", 1),
        (FAILED, SOUND, "mended", 0),
        (FAILED, FAILED, "faulty in both", 0),
        (SOUND, SKIPPED, "no longer run", 3),
        (SKIPPED, SKIPPED, "not run", 0),
        (SKIPPED, SOUND, "new", 0),
    ],
)
def test_an_outcome_that_changed(was: Kernel, now: Kernel, kind: str, code: int) -> None:
    judgement = judge(*both(was, now))
    [found] = [c for c in judgement.changes if c.name == name_of("v1")]
    assert (found.kind, judgement.code) == (kind, code)


@pytest.mark.fault(
    "a kernel of a pull request is faulty, and was not before",
    outcome="`compare --gate` exits with 1 and names the case and the fault",
)
def test_a_timed_kernel_that_fails_now_is_newly_faulty_whatever_its_times() -> None:
    timed = {"v0": Kernel(), "v1": Kernel()}
    judgement = judge(run(timed, 1), run(timed | {"v1": Kernel(status="failed", reason="NaN")}, 2))
    worst = judgement.changes[0]
    assert (worst.kind, worst.faults, judgement.code) == ("newly faulty", ("", "NaN"), 1)


def test_a_new_case_that_fails_is_newly_faulty_and_one_that_went_is_told() -> None:
    judgement = judge(run({"v0": SOUND, "v1": SOUND}), run({"v0": SOUND, "v2": FAILED}))
    assert [(c.name, c.kind) for c in judgement.changes] == [
        (name_of("v2"), "newly faulty"),
        (name_of("v0"), "identical"),
        (name_of("v1"), "gone"),
    ]
    assert judgement.code == 1


@pytest.mark.fault(
    "the two runs to be compared have no case in common, or too few",
    outcome="`compare --gate` exits with 3 and says what is missing",
)
def test_too_little_in_common_tells_nothing() -> None:
    judgement = judge(run({"v0": SOUND}), run({"v0": SOUND}, n=2048))
    assert judgement.code == 3
    assert judgement.untold == ["the two have no case in common"]


def test_a_fault_closes_the_gate_also_where_the_rest_cannot_be_told() -> None:
    kernels = {"v0": Kernel(), "v1": Kernel()}
    new = run(kernels | {"v1": Kernel(status="failed", reason="NaN")}, 2, device={"name": "other"})
    judgement = judge(run(kernels, 1), new)
    assert judgement.code == 1
    assert judgement.untold


def test_a_timed_and_an_emulated_run_are_of_two_kinds() -> None:
    judgement = judge(run({"v0": Kernel()}), run({"v0": Kernel(None)}))
    assert judgement.code == 3
    assert judgement.untold[0] == "the runs are of two kinds: backend cuda then, emulator now"


def test_counters_of_another_architecture_are_not_compared() -> None:
    base = emulated({WAVEFRONTS: 1.0, IDEAL: 1.0})
    new = emulated({WAVEFRONTS: 9.0, IDEAL: 1.0}, device={"name": "NVIDIA A100 (emulated)"})
    judgement = judge(base, new)
    assert judgement.code == 3
    assert {c.kind for c in judgement.changes} == {"not compared"}


def test_another_compiler_is_told_and_compared() -> None:
    judgement = judge(emulated(), emulated(versions={"nvcc": "13.1"}))
    assert judgement.code == 0
    assert [(d.what, d.base, d.new) for d in judgement.setting.context] == [
        ("nvcc", "13.0", "13.1")
    ]


def test_a_remark_that_is_new_is_told() -> None:
    new = emulated({"x": 1.0})
    noted = Remark("sum", "v1", "float32", "computes in half precision", "ptx-level")
    judgement = judge(emulated(), Run(new.folder, new.info, [*new.records, noted]))
    [found] = [c for c in judgement.changes if c.name == name_of("v1")]
    assert found.remarks == ["computes in half precision"]
