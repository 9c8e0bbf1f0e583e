"""The collection on an architecture other than the measured one, through the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typing_commands import harness

from harness import tables


@pytest.fixture(autouse=True)
def _no_pages(without_pages: None) -> None: ...


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_on_a_turing_card_what_it_lacks_is_skipped_and_the_rest_runs(tmp_path: Path) -> None:
    ended = harness(
        "run", "--quick", "--backend", "emulator", "--arch", "sm_75", "--out", tmp_path / "run",
        "--only", "sgemm_tf32", "--only", "sgemm/v7_async_copy", "--only", "relu/v0_scalar",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = rows_of(tmp_path / "run" / "results.csv")
    assert {row["status"] for row in rows if row["problem"] == "relu"} >= {"ok"}
    assert not [row for row in rows if row["status"] == "failed"]
    reasons = {row["reason"] for row in rows if row["variant"] == "v7_async_copy"}
    assert reasons == {"needs compute capability 8.0 (cp.async), sm_75 is 7.5"}
    assert all("needs" in row["reason"] for row in rows if row["problem"] == "sgemm_tf32")


def test_on_an_ampere_card_with_99_kib_its_shapes_run_and_its_machine_code_is_counted(
    tmp_path: Path,
) -> None:
    """The matrix product was written for Hopper's 227 KiB; the scan votes in diverged warps."""
    ended = harness(
        "run", "--quick", "--backend", "emulator", "--arch", "sm_86", "--out", tmp_path / "run",
        "--only", "sgemm_tf32/v1_mma_async_copy", "--only", "scan/v4_look_back",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = rows_of(tmp_path / "run" / "results.csv")
    ours = {row["variant"]: row for row in rows if row["variant"].startswith("v")}
    assert ours["v1_mma_async_copy"]["status"] == "ok"
    assert ours["v4_look_back"]["status"] == "ok"
    of_machine_code = {case.split("/")[1] for case in tables.load(tmp_path / "run").machine_code}
    assert "v4_look_back" in of_machine_code
