"""Pages of emulated runs show counts, and no times."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from reading import Site
from synthetic_runs import SIZES, Bench, mishaps

Make = Callable[..., Bench]


def test_an_emulated_report_says_that_nothing_was_timed_and_shows_no_time(
    bench: Make, tmp_path: Path
) -> None:
    found = Site(bench(sizes=SIZES[:2], **mishaps()).emulated(tmp_path))
    for page in found.pages:
        assert "Counted, not timed." in page.text
        assert not re.search(r"\d\s*(ns|µs|us|ms|s|GB/s|GFLOP/s)\b", page.text)
        assert not re.search(r"\b(fastest|slower|cold|warm|speed-up|ceiling)\b", page.text)
    assert "13 of 16 variants verified at n = 1 … 1,000,003 against float64" in found.only.text


def test_an_emulated_report_has_figures_of_what_was_counted_and_no_roofline(
    bench: Make, tmp_path: Path
) -> None:
    page = Site(bench(sizes=SIZES[:1]).emulated(tmp_path)).only
    assert "What each variant did" in page.text
    assert "counts-reduce_sum-float32-n-1048576" in page.ids
    assert "roofline" not in " ".join(page.ids)
    assert "What changed from step to step" in page.text
    assert not (tmp_path / "assets" / "plotly.min.js").exists()


def test_what_was_counted_in_ptx_is_hatched_where_it_stands(bench: Make, tmp_path: Path) -> None:
    page = Site(bench(sizes=SIZES[:1]).emulated(tmp_path)).only
    cells = {str(a.get("title")): str(a.get("class")) for tag, a in page.elements if tag == "td"}
    assert "soft" in cells["ptx-level"]
    assert "soft" not in cells["emulator-exact"]
    assert "(not counted exactly)" in page.text


def test_an_emulated_report_shows_only_the_claims_that_it_can_test(
    bench: Make, tmp_path: Path
) -> None:
    found = Site(bench(sizes=SIZES[:1]).emulated(tmp_path))
    shown = [name for name in found.only.ids if name.startswith("claim-")]
    assert shown == ["claim-sequential-addressing-ends-bank-conflicts"]
    assert "cannot be tested" not in found.only.text
    assert not [name for name in found.home.ids if name.startswith("claim-")]
