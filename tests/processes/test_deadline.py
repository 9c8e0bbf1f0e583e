"""A problem.py that never ends is stopped, its line is reported, and other problems are not
affected."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from started_processes import run_python

from harness.cases import Device
from harness.errors import ProblemError
from harness.matrix import model, plan
from harness.problem import loading
from harness.processes import deadline

ROOT = Path(__file__).parents[2]
CATCHING = "while True:\n    try:\n        while True: pass\n    except Exception: pass\n"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PLANNING_S", 1.0)


@pytest.mark.fault(
    "a loop in problem.py's import",
    outcome="It is stopped after a minute and named by its line; its cases fail, others run.",
)
@pytest.mark.parametrize("loop", ["while True: pass\n", CATCHING])
def test_a_loop_in_the_import_is_stopped_with_its_line(folder: Path, loop: str) -> None:
    path = folder / "kernels" / "double" / "problem.py"
    path.write_text(f"import sys\n{loop}")
    with pytest.raises(ProblemError, match=r"problem\.py:[234]: its import is not done within"):
        loading.load(path.parent)


@pytest.mark.fault(
    "a loop in problem.py's buffers() or work()",
    outcome="It is stopped after a minute and named by its line; its cases fail, others run.",
)
@pytest.mark.parametrize("method", ["buffers", "work"])
def test_a_loop_in_what_plans_is_a_fault_of_that_problem(
    folder: Path, device: Device, method: str
) -> None:
    path = folder / "kernels" / "double" / "problem.py"
    text = path.read_text()
    start = f"    def {method}(self, sizes, dtype):\n"
    assert text.count(start) == 1
    path.write_text(text.replace(start, f"{start}        while True: pass\n"))
    found = plan.resolve(model.load(folder / "bench.yaml"), device, "emulator")
    assert found.problems == {}
    for case in found.cases:
        assert f"{method}(): it is not done within" in case.refusal
        assert "problem.py:" in case.refusal


def test_what_ends_in_time_leaves_no_alarm_behind(folder: Path) -> None:
    loading.load(folder / "kernels" / "double")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_handler_that_was_left_behind_takes_no_deadline_away() -> None:
    def left_behind(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGALRM, left_behind)
    try:
        with pytest.raises(deadline.Overrun), deadline.within(0.2):
            time.sleep(30)
        assert signal.getsignal(signal.SIGALRM) is left_behind
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_deadline_within_a_deadline_is_the_outer_ones() -> None:
    with pytest.raises(deadline.Overrun), deadline.within(0.2), deadline.within(60):
        time.sleep(30)


@pytest.mark.fault(
    "a loop in C code that problem.py calls, which takes no signal",
    outcome="The process is ended a few seconds after the deadline, and prints where it stood.",
)
def test_a_loop_that_takes_no_alarm_ends_the_process() -> None:
    script = (
        "from harness.processes import deadline; import itertools\n"
        "deadline._GRACE_S = 0.5\n"
        "with deadline.within(0.5):\n"
        "    sum(itertools.repeat(1))\n"
    )
    ended = run_python(script)
    assert ended.returncode == 1
    assert 'File "<string>", line 4' in ended.stderr
