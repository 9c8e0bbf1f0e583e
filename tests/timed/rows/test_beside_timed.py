"""A commit's kernels and the current ones on the simulated device, in the same rounds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
import typer
from fake_device import device
from typer.testing import CliRunner, Result

from harness import load
from harness.commands.line.runs import add
from harness.commands.request import RunRequest
from harness.journal.records import Round
from harness.run.folder import Folder
from harness.run.runner import Runner

sys.path.insert(0, str(Path(__file__).parents[2] / "comparison"))
from repositories import commit

pytestmark = pytest.mark.usefixtures("importable")

FAKE = "fake_device:open_backend"
OWN = """\
dtypes: [float32]
sizes: {test: {n: [1, 33]}, bench: {n: [1024]}}
launch: {block: [64]}
baseline: honest1
defaults:
  steps: {twice: {grid: "ceil_div(n, block)", block: block, args: [input, output, n]}}
variants:
  honest1: {}
  honest2: {builds_on: honest1}
"""

Beside = Callable[..., Result]


@pytest.fixture
def beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Beside:
    """Edit honest2 after a commit, and time both sides: beside({variant: ns})."""
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[3]}:{Path(__file__).parents[1]}")
    monkeypatch.chdir(folder)
    double = folder / "kernels" / "double"
    # At 95 %, equal times fail the gate once in eighty runs, which is allowed, but not here.
    (folder / "bench.yaml").write_text(
        "timing: {placements: [4], choosing: 0, rounds_per_placement: 2, batch: 4,\n"
        "         confidence: 0.9999}\n"
    )
    (double / "bench.yaml").write_text(OWN)
    text = (double / "v0.cu").read_text()
    for name in ("honest1", "honest2"):
        (double / f"{name}.cu").write_text(text)
    commit(folder)
    (double / "honest2.cu").write_text(text.replace("2 * input[i]", "input[i] + 1 * input[i] + 0"))

    def carry_out(asked: RunRequest) -> tuple[int, Path]:
        assert asked.bench is not None
        there = Folder(asked.out, asked.bench, asked.choice, FAKE, device(),
                       datetime.now(timezone.utc), beside=asked.beside)  # fmt: skip
        runner = Runner(there.bench, device(), FAKE, there.choice.only, there.path)
        there.open(runner)
        runner.run()
        there.close(int(runner.failed), load(there.path))
        return int(runner.failed), there.path

    def run(costs: dict[str, float]) -> Result:
        monkeypatch.setenv("FAKE_COSTS", json.dumps(costs))
        app = typer.Typer()
        app.callback()(lambda: None)
        add(app, carry_out)
        command = ["beside", "git:HEAD", "--uncommitted", "--gate", "--out", "run"]
        return CliRunner().invoke(app, command)

    return run


def test_both_sides_meet_in_every_round_and_equal_times_leave_the_gate_open(
    beside: Beside,
) -> None:
    ended = beside({})
    assert ended.exit_code == 0, ended.output
    run = load("run")
    names = ("honest1", "honest1__base", "honest2", "honest2__base")
    seen = {
        name: [(r.placement, r.round, r.cache) for r in run.of(Round)
               if r.case == f"double/{name}/float32/n=1024/block=64" and not r.repeat]
        for name in names
    }  # fmt: skip
    assert len(set(seen["honest1"])) == len(seen["honest1"]) == 4 * 2 * 2
    assert {tuple(sorted(each)) for each in seen.values()} == {tuple(sorted(seen["honest1"]))}
    orders = {
        tuple(dict.fromkeys(r.case for r in run.of(Round)
                            if (r.placement, r.round) == at and r.case in run.planned))
        for at in {(placement, number) for placement, number, _ in seen["honest1"]}
    }  # fmt: skip
    assert len(orders) > 1


def test_what_became_slower_by_one_percent_closes_the_gate(beside: Beside) -> None:
    ended = beside({"honest2": 10_100.0, "honest2__base": 10_000.0, "honest1": 10_000.0,
                    "honest1__base": 10_000.0})  # fmt: skip
    assert ended.exit_code == 1, ended.output
    [line] = [text for text in ended.output.splitlines() if "double/honest2/" in text][:1]
    assert "slower" in line, ended.output
