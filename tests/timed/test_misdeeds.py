"""Whatever a variant does at the timed size, the others end as if it were not there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fake_device import device

from harness import tables
from harness.journal.records import Round
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.run.folder import Folder
from harness.run.runner import Runner
from harness.tables import Run

pytestmark = pytest.mark.usefixtures("importable")

MATRIX = """\
timing: {{placements: [3, 5], choosing: 1, rounds_per_placement: 2, batch: 4}}
limits: {{launch_s: 3}}
problems:
  double:
    dtypes: [float32]
    sizes: {{test: {{n: [1, 33]}}, bench: {{n: [1024]}}}}
    launch: {{block: [64]}}
    baseline: {baseline}
    variants:
{variants}
"""
STEP = '{kernel: twice, grid: "ceil_div(n, block)", block: block, args: [input, output, n]}'
SOUND = {"honest1": 1000.0, "honest2": 500.0, "honest3": 2000.0}

Measure = Callable[..., Run]


@pytest.fixture
def measure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """A run of the named variants on the simulated device."""
    here = str(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2]}:{here}")

    def run(variants: list[str], baseline: str = "honest1") -> Run:
        monkeypatch.setenv("FAKE_COSTS", json.dumps(SOUND))
        lines = "".join(f"      {v}: {{source: v0.cu, steps: [{STEP}]}}\n" for v in variants)
        (folder / "bench.yaml").write_text(MATRIX.format(variants=lines, baseline=baseline))
        bench = model.load(folder / "bench.yaml")
        out = folder / "run"
        now = datetime.now(timezone.utc)
        there = Folder(out, bench, Choice(), "fake_device:open_backend", device(), now)
        runner = Runner(there.bench, device(), "fake_device:open_backend", (), out)
        there.open(runner)
        runner.run()
        return tables.load(out)

    return run


def outcome(run: Run, variant: str) -> tuple[str, str]:
    found = run.outcomes[f"double/{variant}/float32/n=1024/block=64"]
    return found.status, found.reason


REASONS = {
    "hang": "not done within 3 s, and stopped",
    "crash": "the process was ended by SIGSEGV",
    "fault": "an illegal memory access",
    "fault_when_timed": "an illegal memory access",
    "wrong": "`output[3]` is wrong",
    "nan": "`output[0]` is NaN",
    "wrong_later": "timed launches",
    "wrong_sometimes": "wrong",
    "change_input": "the input `input` was changed at element 5",
    "change_input_when_timed": "the input `input` was changed at element ",
    "write_past": "a kernel wrote after the buffer `output`",
}


@pytest.mark.fault(
    "a variant that loops for ever, crashes, accesses illegally, or gives a wrong, NaN or late "
    "wrong result at the timed size",
    outcome="It fails with its own reason; the others end and compare as if it had not been there.",
)
@pytest.mark.parametrize("place", [0, 1, 3], ids=["first", "in the middle", "last"])
def test_misdeeds_cost_their_own_variants_and_no_other(measure: Measure, place: int) -> None:
    """All misdeeds take place in one run; the verdicts on the other variants are those of a run
    without misdeeds."""
    variants = list(SOUND)
    variants[place:place] = REASONS
    run = measure(variants)
    for misdeed, words in REASONS.items():
        status, reason = outcome(run, misdeed)
        assert status == "failed", misdeed
        assert words in reason
    # It changes 200 elements, starting with the fifth; a change of the launch's state may have
    # overwritten the first few since.
    _, reason = outcome(run, "change_input_when_timed")
    [element] = re.findall(r"changed at element (\d+)", reason)
    assert 5 <= int(element) < 205
    results = run.results[run.results.cache == "cold"].set_index("variant")
    for variant in SOUND:
        assert outcome(run, variant) == ("ok", ""), variant
        assert results.placements[variant] >= 3
    assert results.verdict["honest2"] == "faster"
    assert results.verdict["honest3"] == "slower"
    assert not set(results.verdict[list(REASONS)].dropna()) - {"invalid"}


def test_a_result_that_varies_within_its_bounds_is_right_and_said_to_vary(
    measure: Measure,
) -> None:
    run = measure([*SOUND, "vary", "vary_rarely"])
    for variant in ("vary", "vary_rarely"):
        assert outcome(run, variant) == ("ok", "")
        [remark] = run.remarks["double", variant]
        assert "vary in their last bits" in remark.text
    assert ("double", "honest1") not in run.remarks


@pytest.mark.fault(
    "a baseline that fails", outcome="The first sound variant stands in for it, and is named."
)
@pytest.mark.parametrize("misdeed", ["wrong", "wrong_later"])
def test_a_failed_baseline_leaves_the_others_with_times_and_a_substitute(
    measure: Measure, misdeed: str
) -> None:
    run = measure([misdeed, *SOUND], baseline=misdeed)
    assert outcome(run, misdeed)[0] == "failed"
    [group] = run.groups()
    assert run.timings.substitute(group) == "honest1"
    verdicts = run.results[run.results.cache == "cold"].set_index("variant").verdict
    assert verdicts["honest2"] == "faster"
    assert verdicts["honest3"] == "slower"
    assert run.time("double/honest3/float32/n=1024/block=64") is not None


def test_what_is_settled_gets_no_more_placements(measure: Measure) -> None:
    run = measure(list(SOUND))
    placements = {r.placement for r in run.of(Round)}
    assert placements == {0, 1, 2}  # no launch shape to choose, so three at the first look


def test_a_run_that_died_in_the_middle_of_its_rounds_goes_on(
    measure: Measure, folder: Path
) -> None:
    measure(list(SOUND))
    journal = folder / "run" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if '"round": 1' in line)
    journal.write_text("".join(lines[:cut]))
    run = measure(list(SOUND))
    for variant in SOUND:
        assert outcome(run, variant) == ("ok", "")
    placements = [r.placement for r in run.of(Round) if r.case.startswith("double/honest2")]
    assert max(placements) == 3  # three more after the one that was interrupted
