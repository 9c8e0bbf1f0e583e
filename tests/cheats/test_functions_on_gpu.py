"""The outcome of functions that try to win without doing the work, on a real GPU: `make
test-gpu`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from harness import tables
from harness.journal.records import Outcome
from harness.matrix import model

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MATRIX = HERE / "functions.yaml"
ENDINGS = yaml.safe_load((HERE / "function_endings.yaml").read_text())
JOURNAL = "forges_the_journal"
CHEATS = [name for name in ENDINGS if name != JOURNAL]


def run_of(folder: Path, more: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), *sys.path])
    return subprocess.run(
        [sys.executable, "-m", "harness", "run", "--config", str(MATRIX), "--backend", "cuda",
         "--out", str(folder), *more],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": path, "CHEATS": str(folder)},
        capture_output=True, text=True,
    )  # fmt: skip


def test_sixteen_cheats_have_a_twin_each_and_all_are_in_the_matrix() -> None:
    problem = model.load(MATRIX).problems["sum"]
    twins = [ending["twin"] for ending in ENDINGS.values()]
    assert len(ENDINGS) == 16
    assert {"honest", *ENDINGS, *twins} == {*problem.variants, *problem.libraries}
    assert len(set(twins)) == 16


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tables.Run:
    folder = tmp_path_factory.mktemp("functions")
    names = ["honest", *CHEATS, *(ending["twin"] for ending in ENDINGS.values())]
    ended = run_of(folder, [part for name in names for part in ("--only", f"sum/{name}")])
    assert (folder / "results.csv").exists(), ended.stdout + ended.stderr
    return tables.load(folder)


def outcome(run: tables.Run, variant: str) -> Outcome:
    [found] = [o for case, o in run.outcomes.items() if case.startswith(f"sum/{variant}/")]
    return found


@pytest.mark.gpu
@pytest.mark.fault(
    "sixteen functions that win without working: kept answers, work on other streams and threads, "
    "results that are none, replaced clocks, checks and modules, forged records",
    outcome="Each fails by name, and its honest twin is timed.",
)
@pytest.mark.parametrize("name", CHEATS)
def test_a_function_that_cheats_fails_by_name(run: tables.Run, name: str) -> None:
    found = outcome(run, name)
    assert found.status == "failed", "it was timed"
    assert re.search(ENDINGS[name]["failed"], found.reason), found.reason


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["honest", *(ending["twin"] for ending in ENDINGS.values())])
def test_an_honest_function_that_looks_like_a_cheat_is_timed(run: tables.Run, name: str) -> None:
    found = outcome(run, name)
    assert found.status == "ok", found.reason
    rows = run.results[run.results["case"] == found.case]
    assert (rows["median_ns"] > 0).all()


@pytest.mark.gpu
def test_a_run_into_whose_journal_a_function_writes_counts_for_nothing(tmp_path: Path) -> None:
    ended = run_of(tmp_path / "run", ["--only", "sum/honest", "--only", f"sum/{JOURNAL}"])
    assert ended.returncode != 0
    assert "was changed by something other than this run" in ended.stdout + ended.stderr
