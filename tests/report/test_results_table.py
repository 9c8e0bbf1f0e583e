"""docs/results.md's table is generated from committed runs, and a check detects when it is out of
date."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from synthetic_runs import BLOCKS, SIZES, WRONG, Bench

from harness import tables
from harness.analysis.ladder import ladders
from harness.journal.file import Journal
from harness.report import format as fmt

Make = Callable[..., Bench]


@pytest.fixture(scope="module")
def script(script_of: Callable[[str], ModuleType]) -> ModuleType:
    return script_of("results_table")


@pytest.fixture
def project(bench: Make, few: dict[str, float], tmp_path: Path) -> Path:
    """A page with markers, and a committed run on each of two cards, one of which has a page."""
    made = bench(gbps={**few, "v5_wrong": 9.0}, failed={"v5_wrong": WRONG}, rounds=8,
                 sizes=SIZES[1:], launches=BLOCKS[:2])  # fmt: skip
    for card in ("h200", "h100"):
        folder = tmp_path / "reports" / card / "reduce_sum"
        folder.mkdir(parents=True)
        _save(made.timed(folder))
    (tmp_path / "reports" / "h200" / "reduce_sum" / "report.html").write_text("a page")
    other = "<!-- results-others:begin -->\n<!-- results-others:end -->"
    text = f"# Title\n\n<!-- results:begin -->\nold\n<!-- results:end -->\n{other}\n\nThe end.\n"
    (tmp_path / "results.md").write_text(text)
    return tmp_path


def _save(run: tables.Run) -> None:
    tables.write(run)
    with Journal(run.folder / "journal.jsonl") as journal:
        for record in run.records:
            journal.append(record)
    (run.folder / "run.json").write_text(json.dumps(run.info))


def _run(script: ModuleType, project: Path, *flags: str) -> int:
    reports = project / "reports"
    paths = ["--page", str(project / "results.md"), "--runs", str(reports / "h200"), "--others",
             str(reports / "h100")]  # fmt: skip
    code: int = script.main([*flags, *paths])
    return code


def test_the_table_replaces_what_stands_between_the_markers(
    script: ModuleType, project: Path
) -> None:
    assert _run(script, project) == 0
    text = (project / "results.md").read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("\n\nThe end.\n")
    assert "\nold\n" not in text
    assert "| [reduce_sum](reports/h200/reduce_sum/report.html) | n = 2²⁸ |" in text
    assert "| [reduce_sum](reports/h100/reduce_sum/results.csv) | n = 2²⁸ |" in text
    assert "`v9_vectorized` 252" in text
    assert "v5_wrong" not in text, "what failed is no fastest variant"
    assert re.search(r"^- NVIDIA H200, .*, commit `0123456789`: reduce_sum$", text, re.MULTILINE)
    assert "nan" not in text


def test_check_tells_a_stale_table_from_a_current_one(script: ModuleType, project: Path) -> None:
    assert _run(script, project, "--check") == 1
    assert "old" in (project / "results.md").read_text()
    _run(script, project)
    assert _run(script, project, "--check") == 0
    edited = (project / "results.md").read_text().replace("252", "999")
    (project / "results.md").write_text(edited)
    assert _run(script, project, "--check") == 1


def test_with_no_committed_run_it_says_so(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.md").write_text("x")
    assert _run(script, tmp_path) == 1
    assert "no run in" in capsys.readouterr().err


def test_a_page_with_no_markers_is_left_alone(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "results.md").write_text("no markers")
    assert _run(script, project) == 1
    assert (project / "results.md").read_text() == "no markers"
    assert "results:begin" in capsys.readouterr().err


def test_the_figures_are_those_that_the_report_shows(script: ModuleType, project: Path) -> None:
    assert _run(script, project) == 0
    ladder = ladders(tables.load(project / "reports" / "h200" / "reduce_sum"))[0]
    best, first = ladder.winner, ladder.baseline
    assert best is not None
    assert first is not None
    assert best.versus_baseline is not None
    assert best.versus_baseline.ratio is not None
    [row] = [line for line in (project / "results.md").read_text().splitlines()
             if line.startswith("| [reduce_sum](reports/h200")]  # fmt: skip
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2:5] == [
        f"`{first.planned.variant}` {fmt.time_interval(first.time)}",
        f"`{best.planned.variant}` {fmt.time_interval(best.time)}",
        fmt.times(best.versus_baseline.ratio),
    ]


def test_the_libraries_ratio_is_the_fastest_variants_over_it(
    script: ModuleType, project: Path
) -> None:
    _run(script, project)
    ladder = ladders(tables.load(project / "reports" / "h200" / "reduce_sum"))[0]
    [library] = ladder.libraries
    assert ladder.winner is not None
    [row] = [line for line in (project / "results.md").read_text().splitlines()
             if line.startswith("| [reduce_sum](reports/h200")]  # fmt: skip
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[5] == f"`torch` {fmt.time_interval(library.time)}"
    shown = float(cells[6].removesuffix("†").removesuffix("×"))
    assert shown == pytest.approx(library.time.value / ladder.winner.time.value, rel=0.01)


def test_the_notebook_example_of_the_docs_shows_each_variant_at_one_launch_shape(
    project: Path,
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    [example] = re.findall(r"```python\n(import harness\n.*?)```", text, re.DOTALL)
    *lines, last = example.strip().splitlines()
    known: dict[str, Any] = {}
    folder = str(project / "reports" / "h200" / "reduce_sum")
    exec("\n".join(lines).replace("reports/h200/reduce_sum", folder), known)
    shown = eval(last, known)
    best = known["run"].ladder("reduce_sum", n=2**24).gbps
    assert shown[2**24].dropna().to_dict() == best.dropna().to_dict()
