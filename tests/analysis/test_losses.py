"""Avoidable losses, found by emulating three transposes, each with a different fault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typing_commands

from harness import tables
from harness.analysis.causes.why import Explainer
from harness.analysis.counted import Counts, counts, largest
from harness.analysis.readings import Readings
from harness.report import counts as words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three transposes at a size that the matrix does not list."""
    there = tmp_path_factory.mktemp("losses")
    ended = typing_commands.harness(
        "run", "--backend", "emulator", "--only", "transpose/v1*", "--only", "transpose/v2*",
        "--size", "rows=64,cols=64", "--launch", "block_rows=8", "--out", there / "run",
        "--json", there / "run.json", "--markdown", there / "run.md",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (there / "terminal").write_text(ended.stdout + ended.stderr)
    return there


@pytest.fixture(scope="module")
def found(folder: Path) -> Counts:
    run = tables.load(folder / "run")
    told = largest(counts(Explainer(Readings(run))), "transpose", "float32")
    assert told is not None
    return told


def line_of(variant: str, text: str) -> str:
    source = Path(__file__).parents[2] / "kernels" / "transpose" / f"{variant}.cu"
    lines = source.read_text().splitlines()
    return f"{variant}.cu:{next(n for n, line in enumerate(lines, 1) if text in line)}"


def test_scattered_stores_are_told_from_wide_ones_by_the_bytes_that_they_need(
    found: Counts,
) -> None:
    [loss] = found.rungs[0].losses
    assert loss.text == "stores touch 8.0× the sectors that they need"
    assert loss.place == line_of("v0_naive", "output[")


def test_a_bank_conflict_is_told_with_its_line_and_the_line_s_own_figure(found: Counts) -> None:
    [loss] = found.rungs[1].losses
    assert (loss.quantity, loss.value, loss.ideal) == ("wavefronts-over-ideal", 32.0, 1.0)
    assert loss.place == line_of("v1_shared_tile", "= tile[")


def test_a_variant_without_waste_has_no_loss(found: Counts) -> None:
    assert [rung.short for rung in found.rungs if not rung.losses] == ["v2"]
    assert [rung.short for rung in found.losing] == ["v1", "v0"]


def test_a_step_says_what_it_changed_most(found: Counts) -> None:
    *_, last = words.sentences(found)
    assert last == "v2 over v1: shared-memory wavefronts over the ideal fell from 16.5× to 1.00×"


def test_the_terminal_and_both_files_hold_the_same_answer(folder: Path, found: Counts) -> None:
    terminal = " ".join((folder / "terminal").read_text().split())
    markdown = (folder / "run.md").read_text().replace("\\", "")
    for sentence in words.sentences(found):
        assert sentence in terminal
        assert f"- {sentence}" in markdown
    [data] = json.loads((folder / "run.json").read_text())["counted"]
    assert data["sizes"] == {"rows": 64, "cols": 64}
    losses = [variant["losses"] for variant in data["variants"]]
    assert [each[0]["place"] for each in losses if each] == [
        rung.losses[0].place for rung in found.rungs if rung.losses
    ]
    assert data["variants"][2]["builds_on"] == "v1_shared_tile"
    assert data["variants"][2]["changed"][0]["quantity"] == "wavefronts-over-ideal"


def test_no_page_of_it_speaks_of_what_is_fastest(folder: Path) -> None:
    for page in (folder / "run").rglob("*.html"):
        assert "fastest" not in page.read_text().lower()


def test_the_page_begins_with_what_is_left_on_the_table(folder: Path) -> None:
    page = (folder / "run" / "problems" / "transpose.html").read_text()
    answer = page[page.index('class="answer"') :][:600]
    assert "Most is left on the table" in answer
    assert "32.0× the ideal wavefronts, v1_shared_tile.cu" in answer
