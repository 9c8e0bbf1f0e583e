"""Counters of an emulated run are compared with those that were read on a GPU."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

HEAD = "case,step,kernel,metric,value,unit,provenance,reason,origin\n"
CASE = "copy/v0/float32/n=32"
RECORDED = Path(__file__).parents[2] / "reports" / "h100" / "readings.csv"


@pytest.fixture(scope="module")
def beside(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("beside")


def run(folder: Path, name: str, *rows: str) -> Path:
    (folder / name).mkdir()
    (folder / name / "counters.csv").write_text(HEAD + "".join(f"{row}\n" for row in rows))
    return folder / name


def row(metric: str, value: str, provenance: str) -> str:
    return f"{CASE},0,copy,{metric},{value},,{provenance},,{provenance}"


def test_what_both_have_is_compared_and_a_wrong_exact_counter_is_an_error(
    beside: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = run(
        tmp_path, "read", row("a", "10", "ncu"), row("b", "0.5", "ncu"), row("c", "1", "ncu")
    )
    rows = [row("a", "10", "machine-exact"), row("b", "0.5000001", "machine-exact")]
    right = run(tmp_path, "right", *rows, row("d", "7", "machine-exact"))
    to = io.StringIO()
    assert beside.main([right, read], to) == 0
    assert [each["metric"] for each in csv.DictReader(io.StringIO(to.getvalue()))] == ["a", "b"]
    said = capsys.readouterr().err
    assert "copy/v0: 2 of 2 equal, machine-exact" in said
    assert "1 emulated counters were not read" in said
    wrong = run(tmp_path, "wrong", *rows, row("c", "2", "machine-exact"))
    assert beside.main([wrong, read], io.StringIO()) == 1
    model = run(tmp_path, "model", *rows, row("c", "2", "emulator-model"))
    assert beside.main([model, read], io.StringIO()) == 0


def test_where_nothing_was_read_nothing_is_called_equal(beside: ModuleType, tmp_path: Path) -> None:
    ours = run(tmp_path, "ours", row("a", "10", "machine-exact"))
    assert (
        beside.main([ours, run(tmp_path, "theirs", row("a", "10", "measured"))], io.StringIO()) == 1
    )
    assert beside.main([ours, run(tmp_path, "empty", row("a", "", "ncu"))], io.StringIO()) == 1
    assert beside.main([ours, run(tmp_path, "nan", row("a", "nan", "ncu"))], io.StringIO()) == 1


def test_of_an_h100s_readings_exact_ones_are_equal_and_of_tensor_maps_all_but_polls() -> None:
    with RECORDED.open() as lines:
        rows = list(csv.DictReader(lines))
    exact = [each["equal"] for each in rows if each["provenance"] == "machine-exact"]
    assert exact == ["true"] * 282
    by_maps = [each for each in rows if re.match(r"gemm_bf16/v[3-8]", each["case"])]
    differ = {each["metric"] for each in by_maps if each["equal"] == "false"}
    assert len(by_maps) == 198
    assert all("inst_executed" in each or "branch_targets" in each for each in differ), differ
