"""The table of clean machines has separate rows for trials with and without the real torch."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    found = importlib.import_module("clean_machines")
    monkeypatch.setattr(found, "TABLE", tmp_path / "machines.csv")
    monkeypatch.setattr(found, "ROOT", tmp_path)
    monkeypatch.setattr(found, "digest_of_files", lambda: "today")
    return found


def row(torch: str, files: str, as_expected: str = "yes", **more: str) -> dict[str, str]:
    return {"machine": "driver-580", "torch": torch, "files": files,
            "as_expected": as_expected, **more}  # fmt: skip


def told(machines: ModuleType) -> list[tuple[str, str]]:
    return [(row["torch"], row["seconds"]) for row in machines.rows_of(machines.TABLE)]


def test_torch_itself_and_its_stand_in_have_a_row_each_and_a_new_one_takes_its_place(
    machines: ModuleType,
) -> None:
    machines.write(machines.TABLE, [row("stand-in", "old", seconds="271")])
    machines.write(machines.TABLE, [row("2.11.0+cu130", "old", seconds="1047")])
    machines.write(machines.TABLE, [row("stand-in", "today", seconds="300")])
    assert told(machines) == [("stand-in", "300"), ("2.11.0+cu130", "1047")]


@pytest.mark.parametrize(
    ("files", "as_expected", "known"),
    [("today", "yes", True), ("today", "no", False), ("old", "yes", False)],
)
def test_a_machine_is_known_by_either_row_that_did_as_expected_with_todays_files(
    machines: ModuleType, files: str, as_expected: str, known: bool
) -> None:
    machines.write(machines.TABLE, [row("stand-in", "old"), row("2.11.0", files, as_expected)])
    assert machines.is_known(machines.WORLDS[0]) is known
