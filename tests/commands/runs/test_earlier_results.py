"""`run` without a GPU reports which results it reuses from earlier runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.__main__ import app


def run(*more: str) -> tuple[str, dict[str, Any]]:
    """Run the tiny problem of the folder; return the terminal's output and run.json."""
    ended = CliRunner().invoke(app, ["run", "--backend", "emulator", *more])
    assert ended.exit_code == 0, ended.output
    newest = sorted(Path("reports").glob("2*"), key=lambda path: path.stat().st_mtime_ns)[-1]
    return ended.output, json.loads((newest / "run.json").read_text())


@pytest.mark.usefixtures("without_pages", "processes")
def test_a_second_run_says_that_its_cases_are_those_of_the_first(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    said, first = run()
    assert "earlier run" not in said
    assert "taken_over" not in first
    said, second = run()
    assert "as in an earlier run" in said
    assert second["taken_over"] > 0
    said, third = run("--anew")
    assert "earlier run" not in said
    assert "taken_over" not in third
