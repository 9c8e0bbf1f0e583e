"""Two machines' tables beside each other: what is not the same on both is named."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

HEAD = "what,front_end,inputs,outputs,counts\n"


@pytest.fixture
def arm_host(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "scripts"))
    return importlib.import_module("arm_host")


def tables(arm_host: ModuleType, folder: Path, x86: str, arm: str) -> tuple[list[dict], list[str]]:
    for name, rows in (("x86", x86), ("arm", arm)):
        (folder / name).write_text(HEAD + rows)
    return arm_host.beside(arm_host.read(folder / "x86"), arm_host.read(folder / "arm"))


def test_equal_tables_count_their_rows_by_problem(arm_host: ModuleType, tmp_path: Path) -> None:
    same = (
        "add.f32+3(f32),ptx,a,b,c\nrelu/v0/float32/n=1,ptx,d,e,f\nrelu/v0/float32/n=3,ptx,g,h,i\n"
    )
    rows, unlike = tables(arm_host, tmp_path, same, same)
    assert [(row["what"], row["rows"], row["same_outputs"]) for row in rows] == [
        ("operations", 1, 1), ("relu", 2, 2),
    ]  # fmt: skip
    assert unlike == []


def test_other_bits_and_rows_of_one_machine_alone_are_named(
    arm_host: ModuleType, tmp_path: Path
) -> None:
    rows, unlike = tables(
        arm_host,
        tmp_path,
        "relu/v0/n=1,ptx,a,b,c\nrelu/v0/n=3,ptx,a,b,c\n",
        "relu/v0/n=1,ptx,a,X,c\n",
    )
    assert (rows[0]["rows"], rows[0]["same_outputs"], rows[0]["same_counts"]) == (1, 0, 1)
    assert sorted(unlike) == [
        "relu/v0/n=1 ptx: outputs", "relu/v0/n=3 ptx: only one machine has it",
    ]  # fmt: skip
