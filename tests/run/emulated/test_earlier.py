"""A run on the emulator reuses the results of an earlier run if nothing has changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness import tables
from harness.backends.emulated_device import emulated_device
from harness.journal.records import Outcome
from harness.matrix import model
from harness.run.emulated.earlier import EarlierResults
from harness.run.runner import Runner
from harness.run.task_runner import TaskRunner

FAULTY = Path(__file__).parents[2] / "faulty"
RIGHT = "double/right"
Run = Callable[..., tables.Run]


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The variants for which a worker was started since the list was last emptied."""
    found: list[str] = []
    qualify = TaskRunner.qualify

    def noted(self: TaskRunner, job, keep):  # type: ignore[no-untyped-def]
        found.extend(dict.fromkeys(case.variant for case in (*job.cases, *job.tests)))
        return qualify(self, job, keep)

    monkeypatch.setattr(TaskRunner, "qualify", noted)
    return found


@pytest.fixture
def run(tmp_path: Path, cache: Path) -> Run:
    """Run variants of a copy of the faulty problem: run("first", "double/right")."""
    shutil.copytree(FAULTY, tmp_path / "faulty")

    def make(name: str, *only: str, sm_count: int = 132) -> tables.Run:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        bench = model.load(tmp_path / "faulty" / "bench.yaml")
        device = replace(emulated_device("sm_90"), sm_count=sm_count)
        earlier = EarlierResults(bench.limits, device)
        runner = Runner(bench, device, "emulator", only, folder, earlier=earlier)
        info = {"backend": "emulator", "timing": bench.timing.model_dump()}
        (folder / "run.json").write_text(json.dumps(info))
        runner.run()
        return tables.load(folder)

    return make


@pytest.fixture
def kernel(tmp_path: Path, run: Run) -> Path:
    return tmp_path / "faulty" / "kernels" / "double" / "right.cu"


def test_a_second_run_emulates_nothing_and_has_the_same_to_the_digit(
    run: Run, emulated: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first = run("first", RIGHT)
    assert set(emulated) == {"right"}
    emulated.clear()
    second = run("second", RIGHT)
    assert emulated == []
    assert "2 cases (--anew emulates them again)" in " ".join(capsys.readouterr().out.split())
    assert second.outcomes == first.outcomes
    assert second.compiled == first.compiled
    assert len(first.counters) > 0
    assert second.counters.equals(first.counters)


def test_an_edited_kernel_is_emulated_again(run: Run, emulated: list[str], kernel: Path) -> None:
    run("first", RIGHT)
    emulated.clear()
    kernel.write_text(kernel.read_text() + "// another one\n")
    run("second", RIGHT)
    assert set(emulated) == {"right"}


def test_what_a_folder_found_outdated_is_not_handed_on(run: Run, kernel: Path) -> None:
    run("first", RIGHT)
    kernel.write_text(kernel.read_text() + "// another one\n")
    first = run("first", RIGHT)
    second = run("second", RIGHT)
    assert second.planned.keys() == first.planned.keys()
    assert second.outcomes == first.outcomes
    assert len(second.counters) > 0


def test_another_device_is_emulated_again(run: Run, emulated: list[str]) -> None:
    run("first", RIGHT)
    emulated.clear()
    run("second", RIGHT, sm_count=78)
    assert set(emulated) == {"right"}


def test_a_variant_that_failed_is_emulated_again(run: Run, emulated: list[str]) -> None:
    run("first", RIGHT, "double/unwritten_tail")
    emulated.clear()
    second = run("second", RIGHT, "double/unwritten_tail")
    assert set(emulated) == {"unwritten_tail"}
    assert {o.status for case, o in second.outcomes.items() if "tail" in case} == {"failed"}


def test_what_was_edited_during_its_run_is_not_kept(
    run: Run, emulated: list[str], kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Runner.keep

    def edits(self: Runner, record: object) -> None:
        if isinstance(record, Outcome):
            kernel.write_text(kernel.read_text() + "// meanwhile\n")
        keep(self, record)  # type: ignore[arg-type]

    original = kernel.read_text()
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "keep", edits)
        run("first", RIGHT)
    kernel.write_text(original)
    emulated.clear()
    run("second", RIGHT)
    assert set(emulated) == {"right"}


def test_a_damaged_file_is_emulated_again(run: Run, emulated: list[str], tmp_path: Path) -> None:
    run("first", RIGHT)
    (stored,) = (tmp_path / "emulated").glob("*.gz")
    stored.write_bytes(stored.read_bytes()[:-20])
    emulated.clear()
    second = run("second", RIGHT)
    assert set(emulated) == {"right"}
    assert {outcome.status for outcome in second.outcomes.values()} == {"ok"}
