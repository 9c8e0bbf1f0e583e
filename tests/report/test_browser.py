"""The pages in a real browser: no error, no overflow, no overlapping labels, and keyboard
navigation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chromium import NAMES, Chromium, found
from profiled import profiled
from synthetic_runs import BLOCKS, SIZES, Bench, many, mishaps

from harness import report
from harness.journal.records import Outcome, Remark
from harness.tables import Run

pytestmark = pytest.mark.usefixtures("without_pictures")

ASK = (Path(__file__).with_name("inspect.js")).read_text(encoding="utf-8").strip()
WIDTHS = (1280, 400)
TRAP = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = found()
    if program is None:
        missing = (
            f"none of {', '.join(NAMES)} is on PATH: the pages are not tested in a real browser; "
            "install one: apt-get install chromium"
        )
        # A newcomer may have no browser, so the test is skipped; CI installs one and must use it.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    with Chromium(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


def ask(browser: Chromium, question: str) -> Any:
    return browser.evaluate(f"({ASK}).{question}")


@dataclass
class Verdict:
    """The defects of the pages, by page, width and scheme; and the number of checks."""

    wrong: dict[str, list[str]] = field(default_factory=dict)
    headings: int = 0
    explored: int = 0

    def add(self, where: str, *found: object) -> None:
        self.wrong.setdefault(where, []).extend(str(each) for each in found if each)


def inspect(browser: Chromium, pages: list[Path]) -> Verdict:
    """Check every page at both widths, light and dark, folded and unfolded."""
    verdict = Verdict()
    for page in pages:
        for width in WIDTHS:
            for dark in (False, True):
                _look(browser, page, width, dark, verdict)
    verdict.wrong = {where: found for where, found in verdict.wrong.items() if found}
    return verdict


def _look(browser: Chromium, page: Path, width: int, dark: bool, verdict: Verdict) -> None:
    browser.open(page.as_uri(), width, dark=dark)
    where = f"{page.name} at {width}, {'dark' if dark else 'light'}"
    verdict.add(where, ask(browser, "overflow()"), ask(browser, "labels()"))
    if (_lightness(ask(browser, "paper()")) < 0.5) != dark:
        verdict.add(where, "the wrong scheme")
    tabs = browser.evaluate("document.querySelectorAll('.tabs > label').length")
    for tab in range(max(tabs, 1)):
        if tabs:
            browser.evaluate(f"document.querySelectorAll('.tabs > label')[{tab}].click()")
        ask(browser, "unfold()")
        at = f"{where}, tab {tab}"
        verdict.add(at, ask(browser, "overflow()"), ask(browser, "labels()"),
                    ask(browser, "faint()"))  # fmt: skip
        # On a phone, tables of counters scroll; those that compare variants or problems do not.
        kind = "table" if width >= 1280 else ".cards"
        verdict.add(at, ask(browser, f"clipped('{kind}')"))
        if not dark:
            headings = ask(browser, "headings()")
            verdict.add(at, headings["wrong"])
            verdict.headings += headings["count"]
    if not dark:
        explored = ask(browser, "explore()")
        verdict.add(where, explored["over"], explored["empty"] and "a figure stays empty")
        verdict.explored += explored["buttons"]
    verdict.add(where, *browser.said)


def _lightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / (3 * 255)


def opens_in_a_second(browser: Chromium, page: Path) -> bool:
    """The best of several attempts, because a busy machine may delay any of them."""
    return any(browser.open(page.as_uri(), 1280) < 1 for _ in range(10))


def _pages(run: Run) -> list[Path]:
    home = report.write(run)
    return [home, *sorted((run.folder / "problems").glob("*.html"))]


KINDS: dict[str, Callable[[Path], Run]] = {
    "profiled": lambda folder: profiled(Bench(sizes=SIZES[1:], rounds=8), folder, (256,)),
    "mishaps": lambda folder: Bench(rounds=8, sizes=SIZES[:2], placements=3, **mishaps()).timed(
        folder
    ),
    "traps": lambda folder: Bench(
        TRAP,
        {f"{TRAP}{i}": 400.0 * (i + 1) for i in range(3)} | {"torch": 900.0},
        sizes=SIZES[:2],
        launches=BLOCKS[:2],
        rounds=8,
        info={"problems": {TRAP: {"title": TRAP}}},
    ).timed(folder),
    "emulated": lambda folder: Bench(sizes=SIZES[:1]).emulated(folder),
}


@pytest.mark.fault(
    "a problem, variant, title and failure named </script><img src=x onerror=alert(1)>",
    outcome="text on every page and in the one-file report: a browser runs and loads nothing of it",
)
@pytest.mark.parametrize("single", [False, True])
def test_a_hostile_name_is_inert_in_every_page(
    browser: Chromium, tmp_path: Path, single: bool
) -> None:
    run = KINDS["traps"](tmp_path)
    first = next(iter(run.planned))
    evil = {"id": TRAP, "command": TRAP, "driver": TRAP, "started": TRAP, "versions": {TRAP: TRAP},
            "sources": {TRAP: TRAP}, "machine": {"cpu": TRAP}, "commit": {"id": TRAP}}  # fmt: skip
    said = [Outcome(first, "failed", TRAP), Remark(TRAP, f"{TRAP}0", "float32", TRAP, "measured")]
    run = Run(tmp_path, {**run.info, **evil}, [*run.records, *said])
    pages = [report.write(run, single_file=True)] if single else _pages(run)
    for page in pages:
        browser.open(page.as_uri(), 1280)
        # The name would call `alert` if any part of it were parsed as HTML, now or when a figure is
        # explored.
        browser.evaluate("window.alert = () => { window.caught = true }")
        ask(browser, "unfold()")
        assert ask(browser, "explore()")["empty"] == 0
        assert browser.evaluate("window.caught") is None
        assert browser.evaluate("document.images.length") == 0
        assert browser.evaluate("document.querySelectorAll('[onerror]').length") == 0
        assert TRAP in browser.evaluate("document.body.innerText")
        assert browser.said == []


@pytest.mark.fault(
    "a page into which a script, an event handler or an image from elsewhere came all the same",
    outcome="the page's content security policy lets none of them run or load",
)
@pytest.mark.parametrize("single", [False, True])
def test_the_policy_stops_what_was_not_escaped(
    browser: Chromium, tmp_path: Path, single: bool
) -> None:
    run = KINDS["traps"](tmp_path)
    page = report.write(run, single_file=single)
    planted = (
        "<script>window.caught = 1</script><img src='x' onerror='window.caught = 2'>"
        "<a id=go href='javascript:window.caught = 3'>x</a><base href='https://example.org/'>"
        "<img src='https://example.org/x.png'><iframe src='https://example.org/'></iframe>"
        "<object data='https://example.org/'></object>"
    )
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<main>", f"<main>{planted}"), encoding="utf-8")
    browser.open(page.as_uri(), 1280)
    browser.evaluate("document.getElementById('go').click()")
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert browser.evaluate("window.caught") is None
    assert not browser.evaluate("document.baseURI").startswith("https")
    refused = " ".join(browser.said)
    for what in ("inline script", "event handler", "example.org/x.png", "frame", "base"):
        assert what in refused.lower(), refused


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overlaps_overflows_is_clipped_or_reports_an_error(
    browser: Chromium, kind: str, tmp_path: Path
) -> None:
    verdict = inspect(browser, _pages(KINDS[kind](tmp_path)))
    assert verdict.wrong == {}
    assert verdict.headings > 20
    assert (verdict.explored > 0) == (kind != "emulated")


@pytest.fixture(scope="module")
def of_28_problems(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run of 28 problems with few cases each, because only the overview grows with the number of
    problems."""
    run = many(tmp_path_factory.mktemp("run"), variants=2, sizes=1, rounds=6)
    return _pages(run)


def test_of_28_problems_every_page_is_light_and_opens_in_a_second(
    browser: Chromium, of_28_problems: list[Path]
) -> None:
    home, *problems = of_28_problems
    assert len(problems) == 28
    assert all(page.stat().st_size < 3_000_000 for page in of_28_problems)
    for page in (home, problems[4], problems[27]):
        assert opens_in_a_second(browser, page)
    assert inspect(browser, [home, problems[4]]).wrong == {}


def test_28_problems_are_searched_and_sorted_in_the_overview(
    browser: Chromium, of_28_problems: list[Path]
) -> None:
    browser.open(of_28_problems[0].as_uri(), 1280)
    rows = "[...document.querySelectorAll('#problems tbody tr')].filter((r) => !r.hidden).length"
    assert browser.evaluate(rows) == 28
    browser.evaluate(
        "document.getElementById('search').value = 'scan v12';"
        "document.getElementById('search').dispatchEvent(new Event('input'))"
    )
    assert browser.evaluate(rows) == 6
    sorting = ask(browser, "sorting()")
    assert sorting["order"] == "descending"
    assert sorting["after"] == sorted(sorting["after"], reverse=True)


def test_the_overviews_head_stays_in_sight(browser: Chromium, of_28_problems: list[Path]) -> None:
    browser.open(of_28_problems[0].as_uri(), 1280, height=400)
    top = "document.querySelector('.overview th').getBoundingClientRect().top"
    browser.evaluate("document.querySelectorAll('.overview tbody tr')[20].scrollIntoView()")
    assert browser.evaluate(top) == 0


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    few = {"v0_global_memory": 367.0, "v9_vectorized": 4310.0, "torch": 4208.0}
    bench = Bench(gbps=few, sizes=SIZES[:2], launches=BLOCKS[:2], rounds=8)
    return _pages(bench.timed(tmp_path_factory.mktemp("run")))


def test_a_large_page_opens_in_a_second(browser: Chromium, tmp_path: Path) -> None:
    page = _pages(profiled(Bench(rounds=6), tmp_path))[1]
    assert page.stat().st_size < 3_000_000
    assert opens_in_a_second(browser, page)


def test_the_chart_library_is_loaded_only_when_a_figure_is_explored(
    browser: Chromium, timed: list[Path]
) -> None:
    browser.open(timed[1].as_uri(), 1280)
    loaded = "[...document.scripts].filter((s) => s.src.includes('plotly')).length"
    assert browser.evaluate(loaded) == 0
    assert browser.evaluate("typeof window.Plotly") == "undefined"
    assert ask(browser, "explore()")["buttons"] > 0
    assert browser.evaluate(loaded) == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_a_tab_shows_its_size_with_and_without_scripts(
    browser: Chromium, timed: list[Path], scripts: bool
) -> None:
    browser.scripts(scripts)
    try:
        browser.open(timed[1].as_uri(), 1280)
        assert ask(browser, "panels()") == ["size-reduce_sum-float32-n-16777216"]
        browser.evaluate("document.querySelectorAll('.tabs > label')[1].click()")
        assert ask(browser, "panels()") == ["size-reduce_sum-float32-n-1048576"]
    finally:
        browser.scripts(True)


def test_on_paper_every_size_stands_one_after_the_other(
    browser: Chromium, timed: list[Path]
) -> None:
    browser.open(timed[1].as_uri(), 1280)
    browser.media("print")
    try:
        assert len(ask(browser, "panels()")) == 2
    finally:
        browser.media("screen")


def test_a_link_opens_the_fold_and_the_tab_that_its_target_lies_in(
    browser: Chromium, timed: list[Path]
) -> None:
    heading = "shapes-size-reduce_sum-float32-n-1048576"
    browser.open(f"{timed[1].as_uri()}#{heading}", 1280)
    assert ask(browser, "panels()") == ["size-reduce_sum-float32-n-1048576"]
    case = "case-reduce_sum-v9_vectorized-float32-n-1048576-block-256"
    shown = f"document.getElementById('{case}').checkVisibility()"
    assert browser.evaluate(shown) is False
    browser.evaluate(f"location.hash = '{case}'; new Promise((done) => setTimeout(done, 50))")
    assert browser.evaluate(shown) is True


def test_one_file_explores_and_links_without_an_error(browser: Chromium, tmp_path: Path) -> None:
    few = {"v0_global_memory": 367.0, "v9_vectorized": 4310.0, "torch": 4208.0}
    run = Bench(gbps=few, sizes=SIZES[:1], launches=BLOCKS[:1], rounds=8).timed(tmp_path)
    verdict = inspect(browser, [report.write(run, single_file=True)])
    assert verdict.wrong == {}
    assert verdict.explored > 0


def test_the_inspection_notices_what_it_looks_for(browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html><head>"
        "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\"></head>"
        "<body style='background:#fff'><div id='tip'></div>"
        "<p style='width:3000px'>wide</p>"
        "<figure id='f'><div class='wide'><svg viewBox='0 0 200 200' width='200' height='200'>"
        "<text x='1' y='50'>first</text><text x='5' y='52'>second</text>"
        "<text x='190' y='20'>outside</text>"
        "<text transform='translate(60 150) rotate(-45)'>turned</text>"
        "<text transform='translate(84 150) rotate(-45)'>beside</text></svg></div></figure>"
        "<div class='scroll' aria-label='clipped' style='width:50px;overflow-x:auto'>"
        "<table class='sortable'><thead><tr><th data-tip='t'><button disabled>h</button></th>"
        "</tr></thead><tbody><tr><td style='color:#ccc;white-space:nowrap'>long and faint</td>"
        "</tr></tbody>"
        "</table></div><script>1</script></body></html>"
    )
    browser.open(page.as_uri(), 1280)
    assert any("Content Security Policy" in said for said in browser.said)
    assert ask(browser, "overflow()")
    labels = ask(browser, "labels()")["f"]
    assert "first over second" in labels
    assert "outside leaves its figure" in labels
    assert "turned over beside" not in labels
    assert [each.split(":")[0] for each in ask(browser, "clipped()")] == ["clipped"]
    assert ask(browser, "faint()")
    assert ask(browser, "headings()")["wrong"]
