"""The overview: one row per problem, failures first, with their reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from reading import Site, plain
from synthetic_runs import BLOCKS, SIZES, WRONG, Bench

from harness.analysis.ladder import ladders
from harness.report.figures.sparkline import Bar, sparkline
from harness.report.links import Links
from harness.report.pages.overview import Overview, overview
from harness.report.pages.problem import Maker
from harness.tables import Run

pytestmark = pytest.mark.usefixtures("without_pictures")
Make = Callable[..., Bench]
ONE = {"sizes": SIZES[2:], "launches": BLOCKS[:2], "rounds": 10}


def overview_of(run: Run) -> Overview:
    slugs = {p.problem: p.problem for p in run.planned.values()}
    maker = Maker.of(run, ladders(run))
    pages = [maker.page(problem, Links(slugs, "../", problem)) for problem in slugs]
    return overview(maker, pages, Links(slugs, ""))


def several(bench: Make, folder: Path, *problems: Bench) -> Run:
    first = bench(**ONE).timed(folder)
    records = [record for each in problems for record in each.records()]
    return Run(folder, first.info, [*records, *bench().limits()])


def test_a_row_has_the_fastest_its_ratios_the_runner_up_and_the_largest_gain(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    gbps = {**few, "v12_last": 4400.0}
    [line] = overview_of(bench(gbps=gbps, **ONE).timed(tmp_path)).lines
    fastest, baseline, library, ceiling, runner, when = line.cells
    assert when.text == "–"
    assert (fastest.text, line.size) == ("v12", "n = 2²⁸")
    assert re.match(r"11\.9× ± 0\.\d+ %", plain(baseline.text))
    assert (baseline.mark, library.mark) == ("faster", "faster")
    assert ceiling.text.startswith("95")
    assert re.match(r"v9, 2\.0\d % slower", plain(runner.text))
    assert re.search(r"11\.\d× from v0 to v9", line.why)
    assert line.faults == 0


def test_the_cause_of_the_largest_gain_is_named_where_counters_support_it(
    bench: Make, tmp_path: Path
) -> None:
    from profiled import profiled

    names = ("v1_shared_memory", "v2_no_divergence", "v3_no_bank_conflict")
    gbps = {"v0_global_memory": 367.0, names[0]: 370.0, names[1]: 373.0, names[2]: 900.0}
    [line] = overview_of(profiled(bench(gbps=gbps, **ONE), tmp_path)).lines
    assert line.why.startswith("fewer bank conflicts: 2.4")
    assert line.why.endswith("× from v2 to v3")


def test_failures_stand_first_in_red_with_their_reason(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    good = bench(problem="aaa", gbps=few, **ONE)
    bad = bench(problem="bbb", gbps=few, failed={"v9_vectorized": WRONG}, **ONE)
    run = several(bench, tmp_path, good, bad)
    found = overview_of(run)
    assert [(line.problem, line.faults, line.css) for line in found.lines] == [
        ("bbb", 2, "failed"), ("aaa", 0, ""),
    ]  # fmt: skip
    [failed] = found.failures
    assert failed.reason == WRONG
    assert [(link, len(cases)) for link, cases in failed.places] == [
        ("problems/bbb.html#failures-bbb", 2)
    ]
    home = Site(run).home
    assert home.text.index(WRONG) < home.text.index("against the baseline")
    assert "problems/bbb.html#failures-bbb" in home.links


def test_a_reason_that_several_problems_share_is_said_once(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    failed = {"v9_vectorized": WRONG}
    run = several(bench, tmp_path, *(bench(problem=name, gbps=few, failed=failed, **ONE)
                                     for name in ("aaa", "bbb")))  # fmt: skip
    [found] = overview_of(run).failures
    assert [cases[0].split("/")[0] for _, cases in found.places] == ["aaa", "bbb"]
    assert Site(run).home.text.count(WRONG) == 1


def test_the_heading_counts_problems_and_how_ours_stand_against_libraries(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    slow = {**few, "torch": 4500.0}
    benches = [bench(problem=f"p{i}", gbps=slow if i else few, **ONE) for i in range(4)]
    found = overview_of(several(bench, tmp_path, *benches))
    assert found.heading == "4 problems"
    assert found.summary == "In 1 of 4 the fastest of ours is faster than the library."
    assert found.stories == []
    assert found.results is None
    assert found.roofline is not None


def test_with_one_problem_its_sentences_and_figures_stand_on_the_overview(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    found = Site(bench(gbps=few, **ONE).timed(tmp_path))
    assert "v9 is fastest at n = 2²⁸" in found.home.text
    assert "results" in found.home.ids
    assert "roofline" not in " ".join(found.home.ids)


def test_a_row_without_times_says_what_was_verified_and_what_is_left_on_the_table(
    bench: Make, tmp_path: Path
) -> None:
    run = bench(sizes=SIZES[:1], failed={"v5_unroll_last_warp": WRONG}).emulated(tmp_path)
    [line] = overview_of(run).lines
    assert line.cells[0].text == "15 of 16"
    assert line.cells[2].text == "v2: 3.3× the ideal wavefronts; v1: 2.1× the ideal wavefronts"
    assert (
        line.why == "v3 over v2: shared-memory wavefronts over the ideal fell from 3.30× to 1.00×"
    )
    assert line.faults == 3


def test_how_it_was_measured_stands_once(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    benches = [bench(problem=f"p{i}", gbps=few, **ONE) for i in range(2)]
    found = Site(several(bench, tmp_path, *benches))
    assert found.home.text.count("What the verdicts mean") == 1
    assert not any("What the verdicts mean" in page.text for page in found.problems.values())


def test_a_sparkline_has_a_bar_per_variant_and_a_mark_for_a_failure() -> None:
    drawn = sparkline(
        [Bar("v0", 0.1, "baseline"), Bar("<v1>", None, "failed"), Bar("v2", 1.0, "accent")], "title"
    )
    assert drawn.count("<rect") == 3
    assert drawn.count('class="failed"') == 1
    assert "&lt;v1&gt;" in drawn
    assert 'height="24.0"' in drawn
