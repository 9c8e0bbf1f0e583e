"""The kernel page is generated, has every variant of the matrix, and links to its files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt
from own_repository import BENCH, ROOT

from harness import load
from harness.analysis.ladder import Unranked, ladders
from harness.report import format as fmt

PAGE = ROOT / "docs" / "generated" / "kernels.md"
Table = list[list[str]]
"""The rows of a table, the header first."""


committed = cache(load)
"""Read a committed run once for all tests of this file, because reading it takes as long as most of
these tests."""
ladders_of = cache(ladders)


@pytest.fixture(scope="module")
def reading_once(
    script_of: Callable[[str], ModuleType],
) -> Iterator[Callable[[str], ModuleType]]:
    """Import a script that reads the committed runs; all scripts share the runs that one has
    read."""
    with pytest.MonkeyPatch.context() as patch:

        def imported(name: str) -> ModuleType:
            module = script_of(name)
            patch.setattr(module, "load", committed)
            patch.setattr(module, "ladders", ladders_of)
            return module

        yield imported
    committed.cache_clear()
    ladders_of.cache_clear()


@pytest.fixture(scope="module")
def script(reading_once: Callable[[str], ModuleType]) -> ModuleType:
    return reading_once("kernels_page")


@pytest.fixture(scope="module")
def shown() -> dict[str, Table]:
    """Problem → its table, as a Markdown parser reads it."""
    found: dict[str, Table] = {}
    tokens = MarkdownIt("commonmark").enable("table").parse(PAGE.read_text(encoding="utf-8"))
    for before, token in pairwise(tokens):
        if before.type == "heading_open" and before.tag == "h2":
            found[_read(token)] = []
        elif token.type == "tr_open":
            found[list(found)[-1]].append([])
        elif before.type in {"th_open", "td_open"}:
            found[list(found)[-1]][-1].append(_read(token))
    return found


def _read(inline: object) -> str:
    return "".join(token.content for token in getattr(inline, "children", None) or []).strip()


def ours(shown: dict[str, Table], problem: str) -> Table:
    """The rows of the variants, above those of libraries."""
    return [row for row in shown[problem][1:] if row[2] != "A library."]


def test_a_measured_problem_has_its_libraries_times_below_the_ladder(
    shown: dict[str, Table],
) -> None:
    rows = shown["reduce_max"][-4:]
    assert {row[0] for row in rows} == {"cub", "cub_newest", "torch", "torch_compile"}
    for row in rows:
        assert row[1:3] == ["", "A library."]
        assert "µs" in row[3]


def test_the_committed_page_is_up_to_date(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--check"]) == 0, capsys.readouterr().err


def test_what_the_heads_say_was_measured_is_what_the_committed_runs_say(
    reading_once: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    assert reading_once("measured_heads").main(["--check"]) == 0, capsys.readouterr().err


def test_check_tells_a_stale_page_and_leaves_it(
    script: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(script, "PAGE", tmp_path / "kernels.md")
    assert script.main(["--check"]) == 1
    script.PAGE.write_text("old")
    assert script.main(["--check"]) == 1
    assert "is out of date: make kernels-page" in capsys.readouterr().err
    assert script.PAGE.read_text() == "old"
    assert script.main([]) == 0
    assert script.PAGE.read_text() == PAGE.read_text()


def test_each_variant_of_the_matrix_has_one_row_after_what_it_builds_on(
    shown: dict[str, Table],
) -> None:
    assert list(shown) == list(BENCH.problems)
    for name, problem in BENCH.problems.items():
        rows = [row[0].strip() for row in ours(shown, name)]
        assert sorted(rows) == sorted(problem.variants)
        for variant in problem.variants.values():
            if variant.builds_on:
                assert rows.index(variant.builds_on) < rows.index(variant.name)


def test_each_row_says_what_the_variant_builds_on_and_its_idea(shown: dict[str, Table]) -> None:
    for name, problem in BENCH.problems.items():
        for row in ours(shown, name):
            variant = problem.variants[row[0].strip()]
            parent = variant.builds_on
            word, _, sentence = row[2].rpartition(f"{variant.idea}. " if parent else "no idea. ")
            assert word.strip() == ("spoils" if variant.is_trap else ""), row
            assert parent.startswith(row[1]), row
            assert bool(parent) == bool(row[1]), row
            assert len(row[2]) > 10, row
            assert "does not say" not in row[2], row
            assert sentence.startswith("Like ") or len(sentence) <= 202, row  # two lines, and " …"


def test_each_name_leads_to_the_file_of_its_variant_and_each_link_to_something() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (PAGE.parent / target).is_file(), target
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert f"\n## {anchor}\n" in text.replace("\\_", "_"), anchor
    for name, problem in BENCH.problems.items():
        for variant in problem.variants.values():
            file = variant.source or variant.function.split(":")[0]
            assert f"[`{variant.name}`](../../kernels/{name}/{file})" in text


def test_a_measured_problem_has_the_figures_of_its_run_and_no_other_has_any(
    script: ModuleType, shown: dict[str, Table]
) -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\_", "_")
    for name, rows in shown.items():
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        folder = ROOT / "reports" / "h200" / name
        if not (folder / "results.csv").exists():
            assert "This problem has not been measured yet." in section
            assert all(len(row) == 3 for row in rows)
            continue
        run = script.load(folder)
        assert f"Measured on {run.info['device']['name']}" in section
        assert f"commit `{run.info['commit']['id'][:10]}`" in section
        ladder = script.ladders(run)[0]
        assert f"time at {fmt.assignments(ladder.sizes)}" in rows[0][3]
        by_name = {row[0].strip(): row for row in rows[1:]}
        timed = {
            p.variant for p in run.planned.values()
            if not p.is_library and p.sizes == ladder.sizes and p.dtype == ladder.dtype
            and run.outcomes[p.case].status == "ok"
        }  # fmt: skip
        assert {rung.planned.variant for rung in ladder.rungs} >= timed
        assert timed
        for rung in ladder.rungs:
            row = by_name[rung.planned.variant]
            assert row[3] == fmt.time_interval(rung.time)
            if ladder.measure.no_roof:
                assert row[5] == ""
                assert f"No roof: {ladder.measure.no_roof}." in section
            else:
                assert rung.percent is not None
                assert ladder.measure.roof is not None
                assert rung.roof is not None
                other = rung.roof.name if rung.roof.name != ladder.measure.roof.name else ""
                assert row[5] == fmt.share(rung.percent, other)
                assert rows[0][5] == f"of {ladder.measure.roof.name}"
            if rung.versus_parent and rung.versus_parent.ratio:
                assert row[4].split(" (")[0] == fmt.times(rung.versus_parent.ratio)


def test_each_type_has_its_columns_and_a_variant_without_a_figure_says_why(
    script: ModuleType,
) -> None:
    ladder = ladders_of(committed(ROOT / "reports" / "h200" / "reduce_sum"))[0]
    half = replace(
        ladder,
        key=("reduce_sum", "float16", ladder.key[2]),
        rungs=[r for r in ladder.rungs if r.short not in {"v1", "v2", "v3"}],
        unranked=[Unranked("v1_shared_memory", "v1", "wrong", failed=True),
                  Unranked("v2_no_divergence", "v2", "no room", failed=False)],
    )  # fmt: skip
    head, _, *rows = script.table(BENCH.problems["reduce_sum"], [ladder, half])
    assert "| float32, time at n = 2²⁸ |" in head
    assert "| float16, time at n = 2²⁸ |" in head
    assert all(row.replace("\\|", "").count("|") == head.count("|") for row in rows)
    assert rows[1].endswith(" | failed |  |  |")
    assert rows[2].endswith(" | skipped |  |  |")
    assert rows[3].endswith(" |  |  |  |")
    assert rows[4].count(fmt.time_interval(ladder.rungs[4].time)) == 2


def test_a_variant_that_is_newer_than_the_run_is_not_measured_yet(script: ModuleType) -> None:
    ladder = ladders_of(committed(ROOT / "reports" / "h200" / "reduce_sum"))[0]
    before = replace(ladder, rungs=[r for r in ladder.rungs if r.short != "v3"])
    _, _, *rows = script.table(BENCH.problems["reduce_sum"], [before, before])
    assert rows[3].endswith(" | not yet |  |  | not yet |  |  |")
    assert "not yet" not in rows[2]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("// c = a b\n//\n// Idea: fewer loads. They\n// are wide.\n//\n// Contract: any n.\n",
         "fewer loads. They are wide."),
        ("// A trap: looks fast.\n\n__global__ void f() {}\n", "A trap: looks fast."),
        ('"""y = x.\n\nIdea: v1 in\nTriton."""\n', "v1 in Triton."),
        ("__global__ void f() {}\n", "(The head of its file does not say.)"),
    ],
)  # fmt: skip
def test_an_idea_is_the_paragraph_of_the_head_that_is_called_so(
    script: ModuleType, tmp_path: Path, head: str, expected: str
) -> None:
    (tmp_path / "kernel").write_text(head)
    assert script.of_head(tmp_path / "kernel") == expected


def test_an_idea_is_shortened_to_whole_sentences(script: ModuleType) -> None:
    long = "x" * 150
    first = "a load takes sixteen bytes, and there are a quarter as many of them"
    assert script.shortened(f"{first}. {long}. {long}.") == f"A{first[1:]}."
    assert script.shortened(f"fewer. v0 had {long[:80]}: {long}.") == f"Fewer. v0 had {long[:80]} …"
    assert script.shortened("v0's tree.") == "v0's tree."


def test_what_markdown_would_read_as_its_own_is_escaped(script: ModuleType) -> None:
    assert script._prose("|x| of __half2, `a | b_c`") == "\\|x\\| of \\_\\_half2, `a \\| b_c`"
