"""`run --arch` with several architectures: a run for each, and their figures side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_problem import KERNEL
from typing_commands import harness

PREPARED = '({ unsigned v; asm volatile("mov.u32 %0, %%pm0;" : "=r"(v)); v == 99; })'
"""An instruction whose machine code the emulator does not execute; its value is 0."""


def test_figures_of_each_architecture_stand_side_by_side_in_the_terminal_and_on_a_page(
    folder: Path,
) -> None:
    out = folder / "out"
    told = folder / "table.md"
    ended = harness(
        "run", "--config", folder / "bench.yaml", "--arch", "sm_80,sm_120", "--out", out,
        "--markdown", told,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == str(out / "architectures.html")
    assert "COUNTERS code-exact" in ended.stdout
    rows = [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in told.read_text().splitlines() if line.startswith("|")]  # fmt: skip
    assert [name.replace("\\", "") for name in rows[0][2:]] == ["sm_80", "sm_120"]
    figures = {row[1]: row[2:] for row in rows}
    assert figures["sectors"] == ["256", "256"]
    assert figures["occupancy"] == ["100\u202f%"] * 2
    labels = "sm_80, sm_120: code-exact: instructions; hopper-rules: sectors, bank conflicts"
    assert labels in ended.stdout
    assert figures["bank conflicts"] == ["0", "0"]
    assert all(int(each) > 5 for each in figures["registers"])
    page = (out / "architectures.html").read_text()
    assert labels in page
    assert 'href="sm_80/report.html"' in page
    for arch in ("sm_80", "sm_120"):
        assert (out / arch / "report.html").exists()


def test_what_machine_code_cannot_be_executed_for_is_not_exact_there(folder: Path) -> None:
    source = KERNEL.replace("2 * input[i]", f"2 * input[i] + {PREPARED}")
    (folder / "kernels" / "double" / "v0.cu").write_text(source)
    ended = harness(
        "run", "--config", folder / "bench.yaml", "--arch", "sm_90,sm_100", "--out", folder / "out"
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = map(str.split, ended.stdout.splitlines())
    [row] = [line for line in lines if line[:1] == ["sectors"]]
    assert row[-2:] == ["~256", "~256"]
    assert "BEWARE double/v0 counted in PTX alone" in ended.stdout


@pytest.mark.parametrize("option", [["--watch"], ["--backend", "cuda"], ["--json", "x.json"]])
def test_what_only_one_architecture_can_have_is_refused(folder: Path, option: list[str]) -> None:
    ended = harness(
        "run", "--config", folder / "bench.yaml", "--arch", "sm_80,sm_90", "--out", folder / "out",
        *option,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "name one architecture" in ended.stdout
    assert not (folder / "out").exists()
