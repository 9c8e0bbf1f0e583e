"""The collection on an architecture other than that of the measurements, through the command."""

from __future__ import annotations

import csv
from pathlib import Path

from typing_commands import harness


def test_on_a_turing_card_what_it_lacks_is_skipped_and_the_rest_runs(tmp_path: Path) -> None:
    ended = harness(
        "run", "--quick", "--backend", "emulator", "--arch", "sm_75", "--out", tmp_path / "run",
        "--only", "sgemm_tf32", "--only", "sgemm/v7_async_copy", "--only", "relu/v0_scalar",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows if row["problem"] == "relu"} >= {"ok"}
    assert not [row for row in rows if row["status"] == "failed"]
    reasons = {row["reason"] for row in rows if row["variant"] == "v7_async_copy"}
    assert reasons == {"needs compute capability 8.0 (cp.async), sm_75 is 7.5"}
    assert all("needs" in row["reason"] for row in rows if row["problem"] == "sgemm_tf32")
