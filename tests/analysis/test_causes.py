"""reports/h200/causes.csv: every step of the committed runs with its causes and its stated idea."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
Row = Mapping[str, str]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "scripts" / "pages" / "causes.py"
    spec = importlib.util.spec_from_file_location("causes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def large() -> Sequence[Row]:
    """The steps whose times differ by 5 % or more."""
    with (ROOT / "reports" / "h200" / "causes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if not 1 / 1.05 < float(row["speedup"]) < 1.05]


def test_the_committed_table_is_up_to_date(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["--check"]) == 0, capsys.readouterr().err


def test_at_least_85_of_100_steps_are_explained(large: Sequence[Row]) -> None:
    assert len(large) > 200
    assert sum(bool(row["causes"]) for row in large) >= 0.85 * len(large)


def test_the_stated_idea_is_among_the_causes_of_4_of_5_steps_that_went_as_meant(
    large: Sequence[Row],
) -> None:
    stated = [row for row in large if row["idea"] not in ("", "none")]
    as_meant = [
        row for row in stated if (float(row["speedup"]) > 1) != row["idea"].startswith("spoils ")
    ]
    assert len(as_meant) > 150
    assert sum(row["agrees"] == "yes" for row in as_meant) >= 0.8 * len(as_meant)


def test_transposing_in_shared_memory_is_explained_by_its_stores(large: Sequence[Row]) -> None:
    found = [r for r in large if (r["problem"], r["step"]) == ("transpose", "v0 → v1")]
    assert len(found) == 2
    assert all(r["causes"].startswith("better coalesced accesses") for r in found)


def test_a_histogram_of_its_own_for_each_block_is_explained_by_its_atomics(
    large: Sequence[Row],
) -> None:
    found = [r for r in large if (r["problem"], r["step"]) == ("histogram", "v1 → v2")]
    assert len(found) == 3
    assert all(r["causes"].startswith("fewer atomics in global memory") for r in found)


def test_asynchronous_copies_of_attention_are_explained_by_what_is_under_way(
    large: Sequence[Row],
) -> None:
    found = [r for r in large if (r["problem"], r["step"]) == ("attention", "v2 → v3")]
    assert len(found) == 2
    assert all("more under way while a warp waits for memory" in r["causes"] for r in found)
