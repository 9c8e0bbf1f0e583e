"""A card that is lost in the middle of a round, from the matrix to the command line's exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_faults_of_the_card import rounds, whole_rounds
from test_stopping import ROOT
from tiny_problem import timed_matrix

from harness import __main__ as program
from harness import tables
from harness.journal.records import Outcome

HERE = Path(__file__).parent
MATRIX = timed_matrix(
    "honest1: {source: v0.cu}", "FAULT: {source: v0.cu, builds_on: honest1}",
    limits="launch_s: 4",
)  # fmt: skip


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT}:{HERE}", "FAKE_FLAGS": str(folder / "flags"),
    }  # fmt: skip
    command = [sys.executable, str(HERE / "whole_run.py"), "run", "--out", "run"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )


def info(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run" / "run.json").read_text())
    return found


@pytest.mark.fault(
    "a card that is lost in mid-round: off its bus, an ECC error, an Xid after which it hangs",
    outcome="Exit code 1 with the driver's words and how to go on; the open round is void, no "
    "case is blamed, the report stands; the same command finishes and exits with 0.",
)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("lose_card", "no CUDA-capable device is found"),
        ("ecc_error", "uncorrectable ECC error encountered"),
        ("hang_card", "no CUDA-capable device is found"),
    ],
)
def test_a_lost_card_ends_the_run_with_1_and_the_same_command_finishes_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    variants = ("honest1", fault)
    (folder / "flags").mkdir()
    (folder / "bench.yaml").write_text(MATRIX.replace("FAULT", fault))
    stopped = run(folder)
    said = stopped.stdout
    assert stopped.returncode == 1, said + stopped.stderr
    assert "Traceback" not in said + stopped.stderr
    [told] = [line for line in said.splitlines() if line.startswith("STOPPED ")]
    assert words in told
    assert f"double/{fault}/" in told
    assert "--out run" in said
    assert "2 skipped: not reached: the run ended first" in said
    assert info(folder)["exit_code"] == 1
    before = tables.load(folder / "run")
    assert not before.of(Outcome)
    assert rounds(before, "honest1")
    assert whole_rounds(before, variants)

    monkeypatch.setattr(sys, "argv", ["harness", "report", str(folder / "run")])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert not ended.value.code
    assert "nothing can be ranked: 2 not timed" in (folder / "run" / "report.html").read_text()

    (folder / "flags" / "lost").unlink(missing_ok=True)
    (folder / "flags" / "mended").touch()
    again = run(folder)
    assert again.returncode == 0, again.stdout + again.stderr
    assert info(folder)["exit_code"] == 0
    after = tables.load(folder / "run")
    assert {o.status for o in after.outcomes.values()} == {"ok"}
    assert rounds(after, "honest1")[: len(rounds(before, "honest1"))] == rounds(before, "honest1")
    assert whole_rounds(after, variants)
