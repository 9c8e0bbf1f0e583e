"""The outcome of each cheat on a real GPU: `make test-gpu`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from endings import MATRIX, Ending, load

from harness import tables
from harness.journal.records import Outcome

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
ENDINGS = load()
GAIN = 1.01
"""The speed-up over the honest baseline up to which a variant does not count as faster."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tables.Run:
    folder = tmp_path_factory.mktemp("cheats")
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "run", "--config", str(MATRIX), "--backend", "cuda",
         "--out", str(folder)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (folder / "results.csv").exists(), ended.stdout + ended.stderr
    return tables.load(folder)


def outcome(run: tables.Run, name: str) -> Outcome:
    (found,) = (o for case, o in run.outcomes.items() if case.startswith(f"{name}/"))
    return found


def assert_gains_nothing(run: tables.Run, name: str) -> None:
    rows = run.results[run.results["case"] == outcome(run, name).case]
    assert set(rows["cache"]) == {"cold", "warm"}
    for _, row in rows.iterrows():
        assert row["median_ns"] > 0
        assert row["speedup_low"] <= GAIN, f"{name}, {row['cache']}: {row['speedup']:.3f} ×"


@pytest.mark.parametrize("name", ENDINGS)
def test_a_cheat_is_rejected_by_name_or_ranked_at_its_honest_time(
    run: tables.Run, name: str
) -> None:
    ending: Ending = ENDINGS[name]
    found = outcome(run, name)
    allowed = {"failed": ("failed",), "ranked": ("ok",), "either": ("failed", "ok")}[ending.gpu]
    assert found.status in allowed, found.reason
    if found.status == "ok" and not ending.is_honest:
        assert_gains_nothing(run, name)
    if ending.gpu == "failed":
        assert re.search(ending.words, found.reason), found.reason


@pytest.mark.parametrize("name", [name for name, ending in ENDINGS.items() if ending.told])
def test_what_the_emulator_tells_of_a_variant_is_in_the_journal(run: tables.Run, name: str) -> None:
    problem, _, variant = name.partition("/")
    texts = [remark.text for remark in run.remarks.get((problem, variant), [])]
    for words in ENDINGS[name].told:
        assert any(words in text for text in texts), texts


def test_a_cheat_costs_the_others_nothing(run: tables.Run) -> None:
    for name, ending in ENDINGS.items():
        if ending.is_honest:
            assert outcome(run, name).status == "ok"
