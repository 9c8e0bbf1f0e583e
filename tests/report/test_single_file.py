"""A report in one file: the same pages, without any other file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from reading import Page
from synthetic_runs import BLOCKS, SIZES, Bench

from harness import report
from harness.report.figures.explore import library
from harness.tables import Run

Make = Callable[..., Bench]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = tmp_path_factory.mktemp("run")
    few = {"v0_global_memory": 367.0, "v9_vectorized": 4310.0, "torch": 4208.0}
    benches = [Bench(f"p{i}", few, sizes=SIZES[1:], launches=BLOCKS[:1], rounds=8) for i in (0, 1)]
    first = benches[0].timed(folder)
    records = [*first.records, *benches[1].records()]
    return Page(report.write(Run(folder, first.info, records), single_file=True))


def test_it_refers_to_nothing_beside_it(page: Page) -> None:
    assert page.path.name == "report-single-file.html"
    assert page.open == []
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not [name for _, attributes in page.elements for name in attributes if name == "src"]


def test_every_link_leads_to_a_place_in_it_and_no_two_places_have_one_name(page: Page) -> None:
    assert [name for name, times in Counter(page.ids).items() if times > 1] == []
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_it_has_the_overview_and_every_problem(page: Page) -> None:
    assert {"top", "problem-p0", "problem-p1", "method"} <= set(page.ids)
    assert page.text.count("Why each step was faster") == 4


def test_its_policy_allows_its_own_script_and_the_library_by_their_hash_alone(page: Page) -> None:
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', page.source)
    allowed = unescape(policy).split("script-src ")[1].split(";")[0].split()
    [script] = re.findall(r"<script>(.*?)</script>", page.source, re.DOTALL)
    digests = (hashlib.sha256(text.encode()).digest() for text in (script, library()))
    assert allowed == [f"'sha256-{base64.b64encode(d).decode()}'" for d in digests]


def test_the_library_is_in_it_once_and_packed(page: Page) -> None:
    [packed] = re.findall(r'id="plotly">(.*?)</script>', page.source, re.DOTALL)
    assert gzip.decompress(base64.b64decode(packed)).decode() == library()


def test_a_run_without_times_has_no_library(bench: Make, tmp_path: Path) -> None:
    path = report.write(bench(sizes=SIZES[:1]).emulated(tmp_path), single_file=True)
    text = path.read_text(encoding="utf-8")
    assert 'id="plotly"' not in text
    assert len(text) < 3_000_000
