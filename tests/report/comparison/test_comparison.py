"""The files and the page of a comparison of runs that have every kind of change."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from chromium import Chromium
from synthetic_runs import BLOCKS, GBPS, SIZES, WRONG, Bench
from test_browser import browser, inspect  # noqa: F401 a fixture

from harness.comparison import Judgement, judge
from harness.comparison.changes import CLOSING
from harness.comparison.history import history
from harness.report.comparison import files, page, sarif, trend, words
from harness.tables import Run

sys.path.append(str(Path(__file__).parents[2] / "comparison"))

from two_runs import IDEAL, WAVEFRONTS, Kernel, emulated, line, run

SCHEMAS = Path(__file__).parents[3] / "harness" / "schemas"
TRAP = "</script><img src=x onerror=alert(1)>"


def timed(folder: Path) -> Judgement:
    """A comparison of timed runs: variants are slower, faster, newly wrong, corrected, equal, or on
    one side only, and counters have changed."""
    changed = dict(GBPS)
    changed["v3_no_bank_conflict"] *= 0.8
    changed["v7_fixed_blocks"] *= 0.988
    changed["v9_vectorized"] *= 1.02
    del changed["t1_partitioned_unaligned"]
    same = {"sizes": SIZES[:2], "launches": BLOCKS[:2], "placements": 6, "rounds": 3,
            "counted": True}  # fmt: skip
    base = Bench(**same, gbps=dict(GBPS), failed={"v2_no_divergence": WRONG})  # type: ignore[arg-type]
    new = Bench(**same, gbps=changed, failed={"v5_unroll_last_warp": WRONG})  # type: ignore[arg-type]
    return judge(base.timed(folder), new.timed(folder))


def conflicts(folder: Path) -> Judgement:
    """A comparison of emulated runs, the second of which has new bank conflicts, spills and
    more."""
    before = emulated({WAVEFRONTS: 100.0, IDEAL: 100.0}, folder=folder,
                      lines=[line(12, wavefronts=100, wavefronts_ideal=100)])  # fmt: skip
    after = emulated({WAVEFRONTS: 1650.0, IDEAL: 100.0}, folder=folder, spill_bytes=16,
                     registers=255, occupancy=0.25, source="cd",
                     lines=[line(14, wavefronts=1650, wavefronts_ideal=100)])  # fmt: skip
    return judge(before, after)


def traps(folder: Path) -> Judgement:
    """A comparison in which every name would act as markup if it were not escaped."""
    sound = {"v0": Kernel(), f"{TRAP}|`_*": Kernel()}
    failing = sound | {f"{TRAP}|`_*": Kernel(status="failed", reason=f"{TRAP}\x00 | `x` _y_")}
    base = run(sound, 1, problem=TRAP, folder=folder, device={"name": TRAP})
    return judge(base, run(failing, 2, problem=TRAP, folder=folder, device={"name": "other"}))


def nothing(folder: Path) -> Judgement:
    found = run({"v0": Kernel()}, folder=folder)
    return judge(found, found)


KINDS = {"timed": timed, "conflicts": conflicts, "traps": traps, "nothing": nothing}


@pytest.fixture(params=KINDS)
def judgement(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Judgement]:
    return KINDS[request.param](tmp_path)


def test_the_page_is_one_file_that_asks_for_nothing(judgement: Judgement) -> None:
    text = html.unescape(page.text(judgement))
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert all(link.startswith("#") for link in links)
    assert "default-src 'none'" in text
    assert "<img" not in page.text(judgement)
    assert len(text) < 1_000_000


def test_a_browser_shows_the_page_without_overlap_at_any_width_in_both_schemes(
    judgement: Judgement,
    browser: Chromium,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(page.text(judgement), encoding="utf-8")
    assert inspect(browser, [path]).wrong == {}


def test_a_browser_shows_a_trend_without_overlap(
    browser: Chromium,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Eighteen runs of twelve variants, two of which became slower in some run."""
    runs = []
    for day in range(1, 19):
        kernels = {f"v{i}_a_variant_with_a_name": Kernel((1 + 0.03 * i) * 1e5) for i in range(12)}
        for i, since in ((3, 5), (7, 12)):
            name = f"v{i}_a_variant_with_a_name"
            kernels[name] = Kernel(1.2e5 * (1.04 if day >= since else 1))
        found = run(kernels, day)
        info = {**found.info, "started": f"2026-01-{day:02d}", "commit": {"id": f"{day:07d}ab"}}
        runs.append(Run(found.folder, info, found.records))
    home = trend.write(history(runs), tmp_path)
    assert inspect(browser, [home]).wrong == {}


def test_every_case_is_in_the_json_once_and_no_number_is_missing_its_kind(
    judgement: Judgement,
) -> None:
    data = json.loads(json.dumps(files.as_data(judgement), allow_nan=False))
    jsonschema.validate(data, json.loads((SCHEMAS / "comparison.schema.json").read_text()))
    assert data["form"] == 1
    assert len({c["case"] for c in data["cases"]}) == len(judgement.changes)
    assert sum(data["counts"].values()) == len(data["cases"])
    assert data["exit_code"] == judgement.code
    assert {c["verdict"] for c in data["cases"]} <= set(words.MEANINGS)


def test_junit_has_a_test_case_for_each_pair_and_fails_those_that_close_the_gate(
    judgement: Judgement,
) -> None:
    suite = ElementTree.fromstring(files.junit(judgement))[0]
    assert len(suite) == len(judgement.changes) == int(suite.attrib["tests"])
    failed = [case for case in suite if case.find("failure") is not None]
    assert len(failed) == int(suite.attrib["failures"]) == sum(c.closes for c in judgement.changes)


def test_sarif_has_each_reason_that_closes_the_gate_at_a_place_in_the_repository(
    judgement: Judgement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [found] = json.loads(sarif.text(judgement, Path("kernels")))["runs"]
    closing = [r for r in found["results"] if r["level"] == "error"]
    assert len(closing) == len(words.reasons(judgement))
    assert len(found["results"]) - len(closing) == len(judgement.untold)
    rules = {rule["id"] for rule in found["tool"]["driver"]["rules"]}
    assert {r["ruleId"] for r in found["results"]} <= rules
    assert {kind.replace(" ", "-") for kind in CLOSING} < rules
    for result in found["results"]:  # only files that a run names exist here
        [place] = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "bench.yaml"


def test_sarif_names_the_line_by_its_path_from_the_repositorys_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judgement = conflicts(tmp_path)
    [reason, *_] = [r for r in words.reasons(judgement) if ".cu:14" in r.text]
    source = Path("kernels", *re.findall(r"[\w./]+\.cu(?=:14)", reason.text)[0].split("/"))
    source.parent.mkdir(parents=True)
    source.touch()
    places = [
        result["locations"][0]["physicalLocation"]
        for result in json.loads(sarif.text(judgement, Path("kernels")))["runs"][0]["results"]
        if reason.text in result["message"]["text"]
    ]
    assert [(at["artifactLocation"]["uri"], at["region"]["startLine"]) for at in places] == [
        (source.as_posix(), 14)
    ]


def test_where_nothing_is_left_to_compare_the_files_say_so_or_why_not() -> None:
    assert "Nothing is left to compare" in files.markdown_of_nothing("git:main", [])
    untold = ["only git:main has sum/v3: nothing was compared with it"]
    assert "Cannot tell: only git:main has sum/v3" in files.markdown_of_nothing("git:main", untold)
    assert len(ElementTree.fromstring(files.junit_of_nothing())[0]) == 0
    [found] = json.loads(sarif.of_nothing(untold, Path("kernels")))["runs"]
    assert [r["ruleId"] for r in found["results"]] == ["cannot-tell"]


def test_a_comment_stays_below_what_github_takes_and_holds_no_markup(judgement: Judgement) -> None:
    text = files.markdown(judgement)
    assert len(text) < 65_536
    outside = re.sub(r"`[^`]*`", "", text)
    assert set(re.findall(r"<[^>]+>", outside)) <= {
        "<details>", "</details>", "<summary>", "</summary>",
    }  # fmt: skip
    rows = [row for row in text.splitlines() if row.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {4, 7}


def test_a_run_with_both_sides_says_which_commit_its_base_is(tmp_path: Path) -> None:
    beside = {"base": "git:main", "commit": "c0ffee0123456", "suffix": "__base"}
    both = run({"v0": Kernel(), "v0__base": Kernel()}, folder=tmp_path, beside=beside)
    judgement = judge(both, both)
    assert words.sides(judgement)[0] == ("base", "git:main, commit c0ffee0123")
    assert "- base: git:main, commit c0ffee0123\n- new: run-0, " in files.markdown(judgement)


def test_the_sentence_says_how_many_of_each(tmp_path: Path) -> None:
    assert words.headline(timed(tmp_path)) == (
        "Of 62 cases compared, 4 are newly faulty, 6 are slower; 2 are faster, 4 are mended; "
        "2\u202f% slower is not excluded in 4 of 54"
    )
    assert words.headline(conflicts(tmp_path)) == "Of 2 cases compared, 1 is worse"
    assert words.headline(nothing(tmp_path)).startswith("Of 1 case compared, none is slower")


def test_each_reason_of_a_variant_is_told_once_with_its_worst_case(tmp_path: Path) -> None:
    told = {(r.kind, r.cases[0].split("/")[1]): r for r in words.reasons(timed(tmp_path))}
    assert set(told) == {
        ("newly faulty", "v5_unroll_last_warp"),
        ("slower", "v3_no_bank_conflict"),
        ("slower", "v7_fixed_blocks"),
    }
    assert len(told["slower", "v3_no_bank_conflict"].cases) == 4
    reasons = [r.text for r in words.reasons(conflicts(tmp_path))]
    assert "shared-memory wavefronts over the ideal 1.00× → 16.5× at sum/v1.cu:14" in reasons
    assert "occupancy of kernel 100\u202f% → 25.0\u202f%" in reasons
