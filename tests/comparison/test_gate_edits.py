"""Planted regressions close the gate, and harmless edits leave it open: the committed table, and a
few edits that are tried here.

Trying all edits takes many minutes: `make benchmark-gate-edits`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "reports" / "emulated" / "gate_edits.csv"
A_FEW = (
    "a tile without its padding", "a barrier before anything is shared",
    "a tile eight times as wide as it is used", "no barrier between writing a tile and reading it",
    "two loads in the other order", "an array in shared memory renamed", "a comment in the matrix",
)  # fmt: skip


@pytest.fixture(scope="module")
def edits(script_of: Callable[[str], ModuleType]) -> Any:
    return script_of("edits")


@pytest.fixture(scope="module")
def repository(edits: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return edits.Repository(tmp_path_factory.mktemp("edited"), edits.load()[1])


@pytest.fixture
def rows() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_edit_is_one_of_the_kernels_as_they_are(edits: Any) -> None:
    every, problems = edits.load()
    for edit in every:
        before = (ROOT / "kernels" / edit.file).read_text()
        assert edit.of(before) != before, edit.name
        assert edit.problem in problems
    assert len({edit.name for edit in every}) == len(every)


def test_the_committed_results_are_those_of_these_edits(
    edits: Any, rows: list[dict[str, str]]
) -> None:
    every, _ = edits.load()
    wanted = [(edit.name, edit.family, edit.kind) for edit in every]
    assert [(row["edit"], row["family"], row["kind"]) for row in rows] == wanted


@pytest.mark.fault(
    "a regression that counters show, in one of over twelve families, in a change of one line",
    outcome="`--gate` exits with 1, or with 3 where nothing was counted; harmless edits pass",
)
def test_every_planted_regression_closed_the_gate_and_every_harmless_edit_opened_it(
    edits: Any, rows: list[dict[str, str]]
) -> None:
    every, _ = edits.load()
    for edit, row in zip(every, rows, strict=True):
        assert edit.is_as_wanted(int(row["exit"])), row
    regressions = [row for row in rows if row["kind"] == "regression"]
    assert len(regressions) >= 20
    assert len({row["family"] for row in regressions}) >= 12
    assert len(rows) - len(regressions) >= 20


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("name", A_FEW)
def test_an_edit_gets_the_answer_that_stands_committed(
    edits: Any,
    repository: Any,
    rows: list[dict[str, str]],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository.folder)
    [edit] = [each for each in edits.load()[0] if each.name == name]
    [row] = [row for row in rows if row["edit"] == name]
    found = repository.gate(edit)
    assert (found.exit, found.reason) == (int(row["exit"]), row["reason"])
