"""The pages of every kind of run are complete, self-contained and escaped, and show no NaN."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from profiled import REFUSED, profiled
from reading import Page, Site
from synthetic_runs import BLOCKS, COMPILE_ERROR, SIZES, WRONG, Bench, mishaps

from harness.analysis import claims
from harness.journal.records import Planned

Make = Callable[..., Bench]
TRAP = "</script><img src=x onerror=alert(1)>"


def _small(few: dict[str, float], **changes: object) -> dict[str, object]:
    return {"gbps": few, "sizes": SIZES[:2], "launches": BLOCKS[:2], "rounds": 8, **changes}


KINDS = {
    "timed": lambda b, f, p: b(**_small(f)).timed(p),
    "timed with mishaps": lambda b, f, p: b(rounds=8, sizes=SIZES[:1], **mishaps()).timed(p),
    "timed and counted": lambda b, f, p: b(**_small(f, counted=True)).timed(p),
    "profiled": lambda b, f, p: profiled(b(**_small(f)), p, (256,)),
    "in several placements": lambda b, f, p: b(
        **_small({**f, "v8_warp_shuffle": 2500.0}, placements=4, rounds=3,
                 remarks={"v8_warp_shuffle": "varies in its last bits"})
    ).timed(p),
    "of an older version": lambda b, f, p: b(**_small(f, ladder=False)).timed(p),
    "several libraries and types": lambda b, f, p: b(
        **_small({**f, "cub": 4250.0}, libraries=("torch", "cub"), dtypes=("float32", "float16"))
    ).timed(p),
    "a function in Python": lambda b, f, p: b(
        **_small({**f, "v13_triton": 4300.0}, uncompiled=("v13_triton",))
    ).timed(p),
    "one size and one shape": lambda b, f, p: b(
        **_small(f, sizes=SIZES[:1], launches=BLOCKS[:1])
    ).timed(p),
    "all failed": lambda b, f, p: b(**_small(f, failed=dict.fromkeys(f, WRONG))).timed(p),
    "all failed after timing": lambda b, f, p: b(
        **_small(f, failed=dict.fromkeys(f, WRONG), failed_after_timing=True)
    ).timed(p),
    "the baseline failed": lambda b, f, p: b(
        **_small(f, failed={"v0_global_memory": WRONG})
    ).timed(p),
    "none reached": lambda b, f, p: b(**_small(f, unreached=tuple(f))).timed(p),
    "no ceilings": lambda b, f, p: b(**_small(f, ceilings=False)).timed(p),
    "no library": lambda b, f, p: b(**_small({k: f[k] for k in f if k != "torch"})).timed(p),
    "too few rounds": lambda b, f, p: b(**_small(f, rounds=2)).timed(p),
    "three sizes per case": lambda b, f, p: b(
        **_small(f, sizes=({"m": 512, "n": 512, "k": 64}, {"m": 1024, "n": 1024, "k": 64}))
    ).timed(p),
    "little known of the machine": lambda b, f, p: b(
        **_small(f, info={"device": None, "machine": {}, "versions": {}, "commit": None,
                          "problems": {}, "compiler": None, "started": "", "sources": {}})
    ).timed(p),
    "names that are traps": lambda b, f, p: b(
        **_small({f"{TRAP}{i}": 400.0 * (i + 1) for i in range(3)} | {"torch": 900.0},
                 problem=TRAP, remarks={f"{TRAP}1": TRAP},
                 info={"problems": {TRAP: {"title": TRAP}}, "command": TRAP})
    ).timed(p),
    "emulated": lambda b, f, p: b(sizes=SIZES[:1]).emulated(p),
    "emulated with mishaps": lambda b, f, p: b(sizes=SIZES[:2], **mishaps()).emulated(p),
    "emulated, all failed": lambda b, f, p: b(
        **_small(f, failed=dict.fromkeys(f, COMPILE_ERROR))
    ).emulated(p),
}  # fmt: skip


@pytest.fixture(params=list(KINDS), scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Site:
    few = {"v0_global_memory": 367.0, "v9_vectorized": 4310.0, "torch": 4208.0}
    return Site(KINDS[request.param](Bench, few, tmp_path_factory.mktemp("run")))


def test_there_is_a_page_for_the_problem_and_every_element_that_opens_closes(site: Site) -> None:
    assert len(site.problems) == 1
    assert [page.open for page in site.pages] == [[], []]


def test_nothing_outside_the_folder_is_referred_to(site: Site) -> None:
    for page in site.pages:
        assert not [link for link in page.links if "//" in link or link.startswith(("/", "data:"))]
        assert "http:" not in page.source
        assert "https:" not in page.source
        assert "@import" not in page.source


def test_every_link_leads_to_a_file_and_a_place_that_exist(site: Site) -> None:
    pages = {page.path.resolve(): page for page in site.pages}
    for page in site.pages:
        assert [name for name, times in Counter(page.ids).items() if times > 1] == []
        for link in page.links:
            name, _, anchor = link.partition("#")
            path = (page.path.parent / name).resolve() if name else page.path.resolve()
            if path.name != "journal.jsonl":  # a synthetic run has no journal
                assert path.exists(), link
            if anchor:
                assert anchor in pages[path].ids, f"{page.path.name}: {link}"


def test_a_policy_lets_no_script_of_the_pages_own_run(site: Site) -> None:
    for page in site.pages:
        [policy] = [a["content"] for tag, a in page.elements
                    if a.get("http-equiv") == "Content-Security-Policy"]  # fmt: skip
        assert policy is not None
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
        for tag, attributes in page.elements:
            if tag == "script":
                assert attributes.get("type") == "application/json" or attributes.get("src")
            assert not [name for name in attributes if name.startswith("on")]


def test_what_was_given_is_text_wherever_it_stands(site: Site) -> None:
    for page in site.pages:
        assert "<img" not in page.source
        for data in re.findall(r'<script type="application/json">(.*?)</script>', page.source):
            json.loads(data)


def test_no_missing_value_is_shown_as_one(site: Site) -> None:
    for page in site.pages:
        assert not re.search(r"\b(nan|NaN|None|inf|Infinity|NaT|<NA>)\b", page.text)


def test_numbers_have_no_twelve_digits(site: Site) -> None:
    for page in site.pages:
        words = re.sub(r"\b[0-9a-f]{16,}\b|0123456789abcdef", "", page.text)
        assert not re.search(r"\d{1,3}(,\d{3}){3,}", words)
        assert not re.search(r"\d\.\d{7,}", words)


def test_every_figure_lies_beside_the_pages_and_no_other(site: Site) -> None:
    linked = {
        (page.path.parent / link).resolve()
        for page in site.pages
        for link in page.links
        if link.endswith(".png")
    }
    there = {path.resolve() for path in (site.folder / "figures").glob("*.png")}
    assert linked == there
    assert all(path.stat().st_size > 2000 for path in there)


def test_the_tables_lie_beside_them_and_each_page_is_small(site: Site) -> None:
    assert (site.folder / "results.csv").exists()
    assert (site.folder / "counters.csv").exists()
    assert all(len(page.source.encode()) < 3_000_000 for page in site.pages)


def test_what_an_earlier_report_left_goes(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    for folder, name in (("problems", "old.html"), ("figures", "old.png"), ("assets", "old.js")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("old")
    Site(bench(**_small(few, sizes=SIZES[:1])).timed(tmp_path))
    assert not list(tmp_path.rglob("old.*"))


def test_two_problems_whose_names_come_out_alike_have_a_page_each(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few, sizes=SIZES[:1], problem="a b")).timed(tmp_path)
    other = bench(**_small(few, sizes=SIZES[:1], problem="a-b")).records()
    found = Site(type(run)(tmp_path, run.info, [*run.records, *other]))
    assert set(found.problems) == {"a-b", "a-b-2"}


def test_a_compilers_message_is_shown_verbatim_and_runs_nothing(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few, failed={"v9_vectorized": COMPILE_ERROR})).timed(tmp_path)
    for page in Site(run).pages:
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.source
        assert COMPILE_ERROR.splitlines()[1] in "".join(page.words)
        assert "<script>alert" not in page.source


def test_every_claim_is_in_a_timed_report(bench: Make, tmp_path: Path) -> None:
    found = Site(bench(sizes=SIZES[2:], rounds=8).timed(tmp_path))
    shown = [name for page in found.pages for name in page.ids if re.match("claim-[^w]", name)]
    testable = [c for c in claims.read() if any(t.problem == "reduce_sum" for t in c.tests)]
    assert len(shown) == len(testable)
    assert re.search(r"\d of \d+ hold; \d+ more cannot be tested here", found.only.text)


def test_a_claim_without_a_kernel_waits_on_the_overview(
    bench: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = claims.Claim(id="x", text="It is so", source="a book", gpu="any", waits_for="a kernel")
    monkeypatch.setattr(claims, "read", lambda: (one,))
    found = Site(bench(sizes=SIZES[2:], rounds=8).timed(tmp_path))
    assert "A kernel." in found.home.text


def test_every_page_of_a_quick_run_says_that_it_is_rough(bench: Make, tmp_path: Path) -> None:
    run = bench(sizes=SIZES[2:], rounds=8).timed(tmp_path)
    assert not any("Rough:" in page.text for page in Site(run).pages)
    run.info["choice"] = {"quick": True}
    assert all("Rough: made with --quick" in page.text for page in Site(run).pages)


def test_every_case_has_an_anchor_and_every_counter_an_explanation(
    bench: Make, tmp_path: Path
) -> None:
    run = bench(sizes=SIZES[:1]).emulated(tmp_path)
    found = Site(run)
    assert "case-reduce_sum-v0_global_memory-float32-n-1048576-block-128" in found.only.ids
    assert len([name for name in found.only.ids if name.startswith("case-")]) == len(run.planned)
    for metric in set(run.counters.metric):
        assert f"counter-{metric}" in found.home.ids


def test_a_skipped_and_an_unreached_case_say_why(bench: Make, tmp_path: Path) -> None:
    page = Site(bench(rounds=8, sizes=SIZES[:1], **mishaps()).timed(tmp_path)).only
    assert "the variant is limited to `block <= 256`" in page.text
    assert "not reached: the run ended first" in page.text


def test_a_wrong_variant_has_no_bar_and_no_rank(bench: Make, tmp_path: Path) -> None:
    page = Site(bench(rounds=8, sizes=SIZES[:1], **mishaps()).timed(tmp_path)).only
    assert page.text.count("failed: not ranked") == 4  # two variants, drawn for two widths
    assert "Not ranked: v2 , v6 ; why" in page.text


def test_the_same_run_gives_the_same_pages(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few)).timed(tmp_path)
    first, second = ([page.source for page in Site(run).pages] for _ in range(2))
    assert first == second


def test_one_pair_of_variants_has_one_speed_up_wherever_it_stands(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    """v9 builds on the baseline and is the fastest: its speed-up is shown in five places."""
    found = Site(bench(**_small(few, sizes=SIZES[2:])).timed(tmp_path))
    text = found.only.text
    row = text.split("v9_vectorized block 256")[1].split("torch its own")[0]
    said = [
        *re.findall(r"v9 is fastest at n = 2²⁸: ([\d.]+)× v0", text),
        *re.findall(r"v9 over .{0,40}?v0 ([\d.]+)×", text),
        *re.findall(r"([\d.]+)× ± [\d.]+ % faster", row),
        *re.findall(r"v0 → v9 : ([\d.]+)×", text),
        *re.findall(r"([\d.]+)× from v0 to v9", found.home.text),
    ]
    assert len(said) >= 6
    assert len(set(said)) == 1


def test_a_run_of_several_placements_says_what_depends_on_them_and_what_was_left_out(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    gbps = {**few, "v8_warp_shuffle": 2500.0}
    settings = _small(gbps, placements=6, rounds=4, sizes=SIZES[2:],
                      remarks={"v9_vectorized": "varies in its last bits: atomics"})  # fmt: skip
    run = bench(**settings).timed(tmp_path)
    records = [
        type(r)(**{**vars(r), "throttle": ("HwSlowdown",)})
        if r.kind == "round" and (r.placement, r.round) == (1, 2)
        else r
        for r in run.records
    ]
    page = Site(type(run)(tmp_path, run.info, records)).only
    assert "depends on where its memory lies: ± " in page.text
    assert "varies in its last bits: atomics" in page.text
    assert "23 of 24" in page.text
    assert "1 throttled: HwSlowdown" in page.text


def test_an_older_run_says_once_that_it_does_not_know_what_builds_on_what(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = Site(bench(**_small(few, ladder=False)).timed(tmp_path)).only
    assert page.text.count("does not say which variant builds on which") == 1
    assert "builds on the one" not in page.text
    assert "Why each step" not in page.text


def test_the_launch_that_takes_longest_is_marked_and_each_has_a_row(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = Site(bench(**_small(few, sizes=SIZES[2:])).timed(tmp_path)).only
    table = page.text.split("What the compiler made of each launch")[1].split("Over all sizes")[0]
    assert re.search(r"reduce_step_0 longest .* reduce_step_1", table)


def test_a_python_function_is_ranked_and_says_that_nothing_was_compiled(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    gbps = {**few, "v13_triton": 4390.0}
    page = Site(bench(**_small(gbps, uncompiled=("v13_triton",))).timed(tmp_path)).only
    assert "v13_triton block 256 not compiled by us" in page.text
    assert "v13 is fastest" in page.text


def test_a_profiled_page_says_why_and_shows_each_missing_cells_reason(
    bench: Make, tmp_path: Path
) -> None:
    page = Site(profiled(bench(sizes=SIZES[1:2], rounds=8), tmp_path)).only
    assert "v3 has fewer bank conflicts" in page.text
    assert "shared-memory wavefronts over the ideal fell from 3.30× to 1.00×" in page.text
    assert f'title="{REFUSED}">denied</td>' in page.source
    assert "What warps wait for" in page.text
    assert "Flops: counted by Nsight Compute" in page.source


def test_durations_that_disagree_are_flagged(bench: Make, tmp_path: Path) -> None:
    page = Site(profiled(bench(sizes=SIZES[2:], rounds=8), tmp_path)).only
    assert "1 of 49 differ by more than 10 % on a case of over 50 µs" in page.text


def test_figures_to_explore_are_whole_json_with_roles_for_colours(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    page = Site(bench(**_small(few)).timed(tmp_path)).only
    found = re.findall(r'<script type="application/json">(.*?)</script>', page.source, re.DOTALL)
    figures = [json.loads(text) for text in found]
    assert len(figures) == 4  # two ladders, the rate over size, a roofline
    assert all({"data", "layout"} == set(figure) for figure in figures)
    assert "var(--accent)" in found[0]
    library = (tmp_path / "assets" / "plotly.min.js").read_text(encoding="utf-8")
    assert "plotly.js v" in library[:400]


def test_a_png_is_titled_with_problem_size_and_card(
    bench: Make, few: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.report.figures import style

    titles = []
    png = style._png

    def listen(figure: object, title: str, subject: style.Subject) -> bytes:
        titles.append(f"{title} | {subject.what} | {subject.card}")
        return png(figure, title, subject)  # type: ignore[arg-type]

    monkeypatch.setattr(style, "_png", listen)
    Site(bench(**_small(few, sizes=SIZES[2:])).timed(tmp_path))
    assert (
        "Bandwidth of each variant | reduce_sum (float32) at n = 2²⁸, cold | NVIDIA H200" in titles
    )
    assert all("NVIDIA H200" in title and "reduce_sum" in title for title in titles)


def _planned_of(page: Page) -> list[str]:
    return [name for name in page.ids if name.startswith("case-")]


def test_of_many_sizes_the_first_four_have_every_counter(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    sizes = [{"n": 2**20 + 1024 * i} for i in range(5)]
    page = Site(profiled(bench(**_small(few, sizes=sizes)), tmp_path)).only
    assert page.source.count("Every counter, launch by launch<") == 4
    assert page.source.count("for this one, counters.csv has them") == 1


def test_several_types_are_tabs_of_one_page(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(**_small(few, dtypes=("float32", "float16"))).timed(tmp_path)
    page = Site(run).only
    labels = re.findall(r'<label for="tab-[^"]+">([^<]+)</label>', page.source)
    assert [label.split(",")[0] for label in labels] == ["float32", "float32", "float16", "float16"]
    assert len(_planned_of(page)) == len([r for r in run.records if isinstance(r, Planned)])
