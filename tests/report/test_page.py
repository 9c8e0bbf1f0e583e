"""The page of every kind of run: whole, self-contained, escaped, with no number that is none."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from profiled import REFUSED, profiled
from synthetic_runs import BLOCKS, COMPILE_ERROR, SIZES, WRONG, Bench, mishaps

from harness import report
from harness.analysis import claims
from harness.tables import Run

Make = Callable[..., Bench]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """What a reader sees of the page (text), and what it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.scripts = 0
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"href", "src", "xlink:href", "srcset"}:
                self.links.append(value or "")
            elif name in {"title", "data-sort", "aria-label"}:
                self.words.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.words.append(data)


def page_of(run: Run) -> Page:
    return Page(report.write(run))


def words_of(page: Page) -> str:
    """The page's source without the packed library and the figures' data, which are no prose."""
    return re.sub(r"<script type=.*?</script>", "", page.source, flags=re.DOTALL)


def _small(few: dict[str, float], **changes: object) -> dict[str, object]:
    return {"gbps": few, "sizes": SIZES[:2], "launches": BLOCKS[:2], "rounds": 8, **changes}


KINDS = {
    "timed": lambda b, f, p: b(**_small(f)).timed(p),
    "timed with mishaps": lambda b, f, p: b(rounds=8, sizes=SIZES[:1], **mishaps()).timed(p),
    "timed and counted": lambda b, f, p: b(**_small(f, counted=True)).timed(p),
    "one size and one shape": lambda b, f, p: b(
        **_small(f, sizes=SIZES[:1], launches=BLOCKS[:1])
    ).timed(p),
    "all failed": lambda b, f, p: b(**_small(f, failed=dict.fromkeys(f, WRONG))).timed(p),
    "all failed after timing": lambda b, f, p: b(
        **_small(f, failed=dict.fromkeys(f, WRONG), failed_after_timing=True)
    ).timed(p),
    "none reached": lambda b, f, p: b(**_small(f, unreached=tuple(f))).timed(p),
    "no ceilings": lambda b, f, p: b(**_small(f, ceilings=False)).timed(p),
    "no library": lambda b, f, p: b(**_small({k: f[k] for k in f if k != "torch"})).timed(p),
    "too few rounds": lambda b, f, p: b(**_small(f, rounds=2)).timed(p),
    "three sizes a case": lambda b, f, p: b(
        **_small(f, sizes=({"m": 512, "n": 512, "k": 64}, {"m": 1024, "n": 1024, "k": 64}))
    ).timed(p),
    "little known of the machine": lambda b, f, p: b(
        **_small(f, info={"device": None, "machine": {}, "versions": {}, "commit": None,
                          "problems": {}, "compiler": None, "started": "", "sources": {}})
    ).timed(p),
    "emulated": lambda b, f, p: b(sizes=SIZES[:1]).emulated(p),
    "emulated with mishaps": lambda b, f, p: b(sizes=SIZES[:2], **mishaps()).emulated(p),
    "emulated, all failed": lambda b, f, p: b(
        **_small(f, failed=dict.fromkeys(f, COMPILE_ERROR))
    ).emulated(p),
}  # fmt: skip


@pytest.fixture(params=list(KINDS), scope="module")
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Page:
    few = {"v0_global_memory": 367.0, "v9_vectorized": 4310.0, "torch": 4208.0}
    folder = tmp_path_factory.mktemp("run")
    found = page_of(KINDS[request.param](Bench, few, folder))
    found.folder = folder  # type: ignore[attr-defined]
    return found


def test_every_element_that_opens_closes(page: Page) -> None:
    assert page.open == []


def test_nothing_outside_the_folder_is_referred_to(page: Page) -> None:
    assert not [link for link in page.links if "//" in link or link.startswith(("/", "data:"))]
    assert "http" not in words_of(page)
    assert "@import" not in page.source


def test_anchors_are_unique_and_every_inner_link_leads_somewhere(page: Page) -> None:
    assert [name for name, times in Counter(page.ids).items() if times > 1] == []
    missing = {link for link in page.links if link[:1] == "#" and link[1:] not in page.ids}
    assert missing == set()


def test_no_missing_value_is_shown_as_one(page: Page) -> None:
    assert not re.search(r"\b(nan|NaN|None|inf|Infinity|NaT|<NA>)\b", page.text)


def test_numbers_have_no_twelve_digits(page: Page) -> None:
    words = re.sub(r"\b[0-9a-f]{16,}\b|0123456789abcdef", "", page.text)
    shown = re.sub(r'data-sort="[^"]*"', "", words)
    assert not re.search(r"\d{1,3}(,\d{3}){3,}", shown)


def test_every_figure_of_the_page_lies_beside_it(page: Page) -> None:
    folder: Path = page.folder  # type: ignore[attr-defined]
    linked = {link for link in page.links if link.endswith(".png")}
    assert linked == {f"figures/{path.name}" for path in (folder / "figures").glob("*.png")}
    assert all((folder / link).stat().st_size > 2000 for link in linked)


def test_the_tables_lie_beside_it_and_the_page_is_small(page: Page) -> None:
    folder: Path = page.folder  # type: ignore[attr-defined]
    assert (folder / "results.csv").exists()
    assert (folder / "counters.csv").exists()
    assert len(page.source) < 6_000_000
    assert len(words_of(page)) < 1_500_000


def test_a_compilers_message_is_shown_verbatim_and_runs_nothing(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = page_of(bench(**_small(few, failed={"v9_vectorized": COMPILE_ERROR})).timed(tmp_path))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.source
    assert COMPILE_ERROR.splitlines()[1] in "".join(page.words)
    assert "<script>alert" not in page.source


def test_an_emulated_page_says_that_nothing_was_timed_and_shows_no_time(
    bench: Make, tmp_path: Path
) -> None:
    page = page_of(bench(sizes=SIZES[:2], **mishaps()).emulated(tmp_path))
    assert "Counted, not timed." in page.text
    path = tmp_path / "own-words.html"  # what others claim speaks of times, and may
    path.write_text(re.sub(r'<section id="claims">.*?</section>', "", page.source, flags=re.S))
    text = Page(path).text
    assert not re.search(r"\d\s*(ns|µs|us|ms|s|GB/s|GFLOP/s)\b", text)
    assert not re.search(r"\b(fastest|slower|cold|warm|speed-up|ceiling)\b", text)
    assert "13 of 16 variants verified at n = 1 … 1,000,003 against float64" in page.text


def test_every_case_has_an_anchor_and_every_counter_an_explanation(
    bench: Make, tmp_path: Path
) -> None:
    run = bench(sizes=SIZES[:1]).emulated(tmp_path)
    page = page_of(run)
    assert "case-reduce_sum-v0_global_memory-float32-n-1048576-block-128" in page.ids
    assert len([name for name in page.ids if name.startswith("case-")]) == len(run.planned)
    for metric in set(run.counters.metric):
        assert f"counter-{metric}" in page.ids


def test_a_skipped_and_an_unreached_case_say_why(bench: Make, tmp_path: Path) -> None:
    page = page_of(bench(rounds=8, sizes=SIZES[:1], **mishaps()).timed(tmp_path))
    assert "the variant is limited to `block <= 256`" in page.text
    assert "not reached: the run ended first" in page.text


def test_a_wrong_variant_has_no_bar_and_no_rank(bench: Make, tmp_path: Path) -> None:
    page = page_of(bench(rounds=8, sizes=SIZES[:1], **mishaps()).timed(tmp_path))
    assert page.text.count("failed: not ranked") == 4  # two variants, drawn for two widths
    assert "Not ranked: v2 , v6 ; why" in page.text


def test_the_same_run_gives_the_same_page(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few)).timed(tmp_path)
    assert page_of(run).source == page_of(run).source


def test_ratios_near_one_show_the_digits_that_their_verdict_needs(
    bench: Make, tmp_path: Path
) -> None:
    gbps = {"v0_global_memory": 4000.0, "v1_shared_memory": 4012.0}
    page = page_of(bench(gbps=gbps, sizes=SIZES[2:], noise=0.0001).timed(tmp_path))
    assert re.search(r"1\.00\d+× v0", page.text)
    assert "1.00× (±" not in page.text


def test_every_launchs_share_is_given_by_its_kernels_name(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = page_of(bench(**_small(few)).timed(tmp_path))
    assert re.search(r"launch 1 \d[\d.]* %, launch 2 \d[\d.]* %", page.text)


def test_a_profiled_page_says_why_and_shows_each_missing_cells_reason(
    bench: Make, tmp_path: Path
) -> None:
    page = page_of(profiled(bench(sizes=SIZES[1:2], rounds=8), tmp_path))
    assert "v3 has fewer bank conflicts" in page.text
    assert "shared-memory wavefronts over the ideal fell from 3.30× to 1.00×" in page.text
    assert f'title="{REFUSED}">not permitted</td>' in page.source
    assert "What warps wait for" in page.text
    assert "flops: counted by Nsight Compute" in page.source.replace("Flops: ", "flops: ")


def test_durations_that_disagree_are_flagged(bench: Make, tmp_path: Path) -> None:
    page = page_of(profiled(bench(sizes=SIZES[2:], rounds=8), tmp_path))
    assert "1 of 49 differ by more than 10 % on a case of over 50 µs" in page.text


def test_every_claim_is_on_the_page_with_its_result(bench: Make, tmp_path: Path) -> None:
    page = page_of(bench(sizes=SIZES[2:], rounds=8).timed(tmp_path))
    shown = [name for name in page.ids if name.startswith("claim-")]
    assert len(shown) == len(claims.read())
    assert re.search(r"\d hold, \d do not, \d cannot be tested in this run", page.text)
    assert page.text.count("the softmax kernels are not in this repository yet") == 1


def test_an_emulated_page_has_no_roofline_and_no_words_on_speed(
    bench: Make, tmp_path: Path
) -> None:
    page = page_of(bench(sizes=SIZES[:1]).emulated(tmp_path))
    assert "roofline" not in " ".join(page.ids)
    assert "What changed from step to step" in page.text
    assert 'id="plotly"' not in page.source


def test_figures_to_explore_are_whole_json_with_roles_for_colours(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = page_of(bench(**_small(few)).timed(tmp_path))
    found = re.findall(r'<script type="application/json">(.*?)</script>', page.source, re.DOTALL)
    figures = [json.loads(text) for text in found]
    assert len(figures) == 4  # two ladders, the rate over size, a roofline
    assert all({"data", "layout"} == set(figure) for figure in figures)
    assert "var(--accent)" in found[0]
    packed = re.search(r'id="plotly">(.*?)</script>', page.source, re.DOTALL)
    assert packed
    assert b"plotly.js v" in gzip.decompress(base64.b64decode(packed[1]))[:400]


def test_several_problems_share_one_roofline_of_their_fastest(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few, sizes=SIZES[2:])).timed(tmp_path)
    records = list(run.records)
    for record in run.records:
        if hasattr(record, "case"):
            changes = {"case": record.case.replace("reduce_sum", "dot")}
            changes |= {"problem": "dot"} if hasattr(record, "problem") else {}
            records.append(replace(record, **changes))
    page = page_of(Run(tmp_path, run.info, records))
    assert "roofline-all" in page.ids
    assert "dot v9" in page.text
    assert "reduce_sum torch" in page.text
