"""The judge returns a typed verdict for every kernel, and no kernel affects the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import affine
import pytest

from harness.errors import BackendUnavailable, UsageError
from harness.judge import Kernel, ProblemFolder, Submission, Text
from harness.judge.judge import Judge
from harness.judge.verdicts import VERDICT, Verdict
from harness.machine import devices

KERNELS = Path(__file__).parents[2] / "kernels"


@pytest.fixture(scope="module")
def found(judge: Judge) -> dict[str, Verdict]:
    """The verdict on each kernel, all judged in one run."""
    names = ("right", "wrong", "outside", "unknown", "endless", "cheat")
    verdicts = judge.judge(affine.submission(*names)).verdicts
    return dict(zip(names, verdicts, strict=True))


def test_a_right_kernel_is_right_with_exact_counters(found: dict[str, Verdict]) -> None:
    right = found["right"]
    assert (right.verdict, right.cause, right.bank_conflicts) == ("right", "", 0)
    assert right.counters["sectors_per_load"].provenance == "machine-exact"
    assert right.counted_at == {"n": 1025}
    assert right.verified_at == ({"n": 1}, {"n": 33}, {"n": 1025})
    assert right.verified == 7  # three sizes, each with two draws; and one that is counted


def test_a_wrong_kernel_has_its_smallest_counterexample(found: dict[str, Verdict]) -> None:
    wrong = found["wrong"]
    example = wrong.counterexample
    assert wrong.verdict == "wrong"
    assert example
    assert (example.sizes, example.array, example.index) == ({"n": 33}, "y", 7)
    assert example.found == pytest.approx(example.expected + 1, abs=1e-3)
    assert (example.wrong, example.elements) == (1, 33)


def test_a_fault_names_its_cause_and_its_line(found: dict[str, Verdict]) -> None:
    fault = found["outside"]
    assert (fault.verdict, fault.cause) == ("fault", "out of bounds")
    assert (fault.file, fault.line) == ("outside.cu", 3)
    assert "outside.cu:3" in fault.text
    assert "/tmp" not in fault.text


def test_what_does_not_compile_names_its_line(found: dict[str, Verdict]) -> None:
    error = found["unknown"]
    assert (error.verdict, error.file, error.line) == ("compile-error", "unknown.cu", 3)
    assert 'identifier "z" is undefined' in error.text


def test_an_endless_kernel_is_a_fault(found: dict[str, Verdict]) -> None:
    endless = found["endless"]
    assert (endless.verdict, endless.cause, endless.line) == ("fault", "endless", 3)


def test_a_kernel_that_gives_an_answer_again_is_a_cheat(found: dict[str, Verdict]) -> None:
    cheat = found["cheat"]
    assert (cheat.verdict, cheat.cause) == ("cheat", "keeps state between launches")


def test_every_verdict_survives_json(found: dict[str, Verdict]) -> None:
    for each in found.values():
        assert VERDICT.validate_json(VERDICT.dump_json(each)) == each


def test_a_launch_that_does_not_fit_its_kernel_is_a_fault(judge: Judge) -> None:
    own = affine.kernel("right", args=("x", "y"))
    verdict = judge.check(Submission((own,), affine.problem()))
    assert (verdict.verdict, verdict.cause) == ("fault", "launch")


def test_a_size_that_a_kernel_leaves_out_is_not_among_those_it_was_verified_at(
    judge: Judge,
) -> None:
    own = affine.kernel("outside", when="n == 256 or n == 1024")
    problem = affine.problem(test={"n": [1, 256, 1024]})
    verdict = judge.check(Submission((own,), problem))
    assert verdict.verdict == "right"
    assert verdict.verified_at == ({"n": 256}, {"n": 1024})
    assert "at 2 test sizes" in verdict.text


def test_a_reference_that_raises_is_no_kernels_fault(judge: Judge) -> None:
    broken = {"source": "def affine(x, n):\n    return x / [1, 2]\n", "name": "affine"}
    problem = affine.problem()
    object.__setattr__(problem, "reference", type(problem.reference)(**broken))
    verdict = judge.check(Submission((affine.kernel("right"),), problem))
    assert (verdict.verdict, verdict.cause) == ("cannot-tell", "the problem")
    assert "problem.py" in verdict.text


def test_a_complex_reference_is_no_kernels_fault_and_its_output_is_named(judge: Judge) -> None:
    broken = {"source": "def affine(x, n):\n    return 3 * x + n + 1j\n", "name": "affine"}
    problem = affine.problem()
    object.__setattr__(problem, "reference", type(problem.reference)(**broken))
    verdict = judge.check(Submission((affine.kernel("right"),), problem))
    assert (verdict.verdict, verdict.cause) == ("cannot-tell", "the problem")
    assert "complex values for `y`" in verdict.message


def test_a_folders_own_kernel_is_judged_by_its_text_alone(judge: Judge) -> None:
    folder = KERNELS / "transpose"
    source = (folder / "v1_shared.cu" if (folder / "v1_shared.cu").exists() else next(
        iter(sorted(folder.glob("v0*.cu")))
    )).read_text()  # fmt: skip
    like = ProblemFolder(str(folder), counted={"rows, cols": [[64, 64]]})
    verdict = judge.check(Submission((Text(source),), like))
    assert verdict.verdict == "right", verdict.text


@pytest.mark.fault(
    "a reference that hangs, in a submission to the judge",
    "cannot-tell, at the deadline; all that it started is ended, and the next has a fresh process",
)
def test_a_hanging_reference_costs_the_next_submission_nothing(tmp_path: Path) -> None:
    hangs = {"source": "import time\ntime.sleep(3600)\ndef affine(x, n): return x\n",
             "name": "affine"}  # fmt: skip
    problem = affine.problem()
    hanging = affine.problem()
    object.__setattr__(hanging, "reference", type(problem.reference)(**hangs))
    with Judge(jobs=1, home=tmp_path, with_spare=True) as judge:
        judge.wait()
        first = judge.check(affine.submission("right"))
        late = judge.check(Submission((affine.kernel("right"),), hanging, seconds=2))
        began = time.monotonic()
        again = judge.check(affine.submission("right"))
        took = time.monotonic() - began
    assert (late.verdict, late.cause) == ("cannot-tell", "deadline")
    assert first.verdict == again.verdict == "right"
    assert took < 30


@pytest.mark.fault(
    "a reference that crashes, in a submission to the judge",
    "cannot-tell, with how its process ended; the next is judged by the same slot",
)
@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("import os; os.kill(os.getpid(), 11)", "crash"),
        ("import os; os._exit(3)", "crash"),
    ],
)
def test_a_crashing_reference_ends_its_own_process_alone(
    judge: Judge, line: str, cause: str
) -> None:
    problem = affine.problem()
    source = {"source": f"{line}\ndef affine(x, n): return x\n", "name": "affine"}
    object.__setattr__(problem, "reference", type(problem.reference)(**source))
    verdict = judge.check(Submission((affine.kernel("right"),), problem))
    assert (verdict.verdict, verdict.cause) == ("cannot-tell", cause)
    assert judge.check(affine.submission("right")).verdict == "right"


def test_a_reference_that_crashes_when_it_is_called_is_no_fault_of_the_kernel(judge: Judge) -> None:
    problem = affine.problem()
    source = "import os\ndef affine(x, n): os.kill(os.getpid(), 11)\n"
    object.__setattr__(problem, "reference", type(problem.reference)(source=source, name="affine"))
    verdict = judge.check(Submission((affine.kernel("right"),), problem))
    assert (verdict.verdict, verdict.cause) == ("cannot-tell", "crash")


@pytest.mark.fault("a submission that leaves processes behind", "they end with it")
def test_what_a_submission_starts_ends_with_it(judge: Judge, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    source = (
        "import os, subprocess\n"
        "pid = subprocess.Popen(['sleep', '3600'], env={}, start_new_session=True).pid\n"
        f"open({str(told)!r}, 'w').write(str(pid))\n"
        "def affine(x, n): return 3 * x + n\n"
    )
    problem = affine.problem()
    object.__setattr__(problem, "reference", type(problem.reference)(source=source, name="affine"))
    assert judge.check(Submission((affine.kernel("right"),), problem)).verdict == "right"
    pid, until = int(told.read_text()), time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_a_time_is_refused_without_a_gpu(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: False)
    with pytest.raises(BackendUnavailable, match="a time needs an NVIDIA GPU"):
        judge.judge(affine.submission("right", kind="time"))


def test_two_kernels_of_one_name_are_refused(judge: Judge) -> None:
    with pytest.raises(UsageError, match="two kernels are called right"):
        judge.judge(affine.submission("right", "right"))


def test_the_folder_says_the_same_on_the_command_line(judge: Judge, tmp_path: Path) -> None:
    from harness.judge.folders import to_folder

    submission = affine.submission("right", "outside")
    to_folder(submission, tmp_path / "matrix")
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--backend", "emulator", "--out", "run",
         "--json", "results.json", "--quiet"],
        cwd=tmp_path / "matrix", capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(KERNELS.parent)},
    )  # fmt: skip
    assert ended.returncode == 1, ended.stdout + ended.stderr
    told = json.loads((tmp_path / "matrix" / "results.json").read_text())
    status = {each["variant"]: each["status"] for each in told["verified"]}
    verdicts = judge.judge(submission).verdicts
    assert [v.verdict for v in verdicts] == ["right", "fault"]
    assert {"right": status["right"], "outside": status["outside"]} == {
        "right": "verified", "outside": "failed",
    }  # fmt: skip
    assert "outside.cu:3: out of bounds" in ended.stdout


def test_a_kernel_needs_a_whole_launch() -> None:
    with pytest.raises(ValueError, match="needs entry, grid and block"):
        Kernel("__global__ void f() {}", "f", grid=1)
