"""The tables of two machines are compared, and rows that differ are named."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from harness.cases import Case

HEAD = "what,front_end,inputs,outputs,counts\n"


@pytest.fixture
def arm_host(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
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


def test_a_trap_is_a_case_of_its_problem(arm_host: ModuleType, tmp_path: Path) -> None:
    same = "copy/t1_stride_2/float32/n=1,ptx,a,b,c\n"
    rows, _ = tables(arm_host, tmp_path, same, same)
    assert [row["what"] for row in rows] == ["copy"]


def test_a_few_cases_are_of_variants_from_the_first_to_the_last_and_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    few = importlib.import_module("emulated_digests").few
    cases = [
        Case(problem, f"v{number}", "float32", {"n": n}, {})
        for problem in ("copy", "relu")
        for number in range(5)
        for n in (1025, 1, 31)
    ]
    found = few(cases, 3, Path(__file__).parents[2] / "kernels")
    assert [(case.problem, case.variant) for case in found] == [
        ("copy", "v0"), ("relu", "v0"), ("copy", "v2"), ("relu", "v2"), ("copy", "v4"),
        ("relu", "v4"),
    ]  # fmt: skip
    assert {case.sizes["n"] for case in found} == {31}


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


@pytest.mark.usefixtures("processes")
def test_the_digests_are_of_the_cases_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    digests = importlib.import_module("emulated_digests")
    monkeypatch.setattr(digests, "of_case", lambda bench, case: [case])
    found = list(digests.of_cases(["relu"], bench_sizes=True, most=2))
    assert [case.variant for case in found] == ["v0_scalar", "v3b_packs_in_flight"]
