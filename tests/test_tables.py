"""Tables against speed-ups, medians and shares worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness import tables
from harness.errors import JournalError
from harness.records import (
    Ceiling,
    Compiled,
    Counted,
    Journal,
    Outcome,
    Planned,
    Record,
    Round,
    Verified,
)
from harness.tables import Run

INFO = {"backend": "cuda", "timing": {"confidence": 0.95, "same_within": 0.01}}
DRIFT = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6]
CENTRE = float(np.exp(np.mean(np.log(DRIFT))))
"""Times are averaged as logarithms."""


def planned(variant: str, block: int | None = 64, n: int = 1000) -> Planned:
    launch = {} if block is None else {"block": block}
    case = "/".join(
        ["double", variant, "float32", f"n={n}", *(f"block={b}" for b in launch.values())]
    )
    return Planned(case, "double", variant, "float32", {"n": n}, launch, 8 * n, n,
                   variant == "v0", variant == "torch")  # fmt: skip


def rounds(
    p: Planned, times: Sequence[float], repeat: bool = False, cache: Any = "cold"
) -> list[Record]:
    """One launch far off in each batch, which leaves it out."""
    return [
        Round(p.case, cache, i, repeat, (t, t, t * 50)) for i, t in enumerate(times)
    ]  # fmt: skip


def timed(variant: str, cost: float, block: int | None = 64, status: Any = "ok") -> list[Record]:
    p = planned(variant, block)
    records: list[Record] = [p, *rounds(p, [cost * d for d in DRIFT])]
    if p.is_baseline:
        wiggle = (1.001, 0.999)
        records += rounds(p, [cost * d * wiggle[i % 2] for i, d in enumerate(DRIFT)], repeat=True)
    return [*records, Outcome(p.case, status, "" if status == "ok" else "its reason")]


def row(run: Run, variant: str, cache: str = "cold", block: int | None = 64) -> dict[str, Any]:
    table = run.results
    chosen = table[(table.variant == variant) & (table.cache == cache)]
    if block is not None:
        chosen = chosen[chosen.block == block]
    assert len(chosen) == 1
    return dict(chosen.iloc[0])


@pytest.fixture
def run(tmp_path: Path) -> Run:
    records = [*timed("v0", 1000.0), *timed("fast", 250.0), *timed("slow", 2000.0),
               *timed("alike", 1000.5), *timed("wrong", 100.0, status="failed"),
               *timed("torch", 500.0, None),
               Ceiling("read_bandwidth", 64e9, 60e9, 66e9, "byte/s", "", (64e9,))]  # fmt: skip
    return Run(tmp_path, INFO, records)


@pytest.mark.parametrize(
    ("variant", "speedup", "verdict"),
    [("fast", 4.0, "faster"), ("slow", 0.5, "slower"), ("v0", 1.0, "same"),
     ("alike", 1000 / 1000.5, "same")],
)  # fmt: skip
def test_a_speedup_is_the_paired_ratio_and_drift_cancels(
    run: Run, variant: str, speedup: float, verdict: str
) -> None:
    found = row(run, variant)
    assert found["speedup"] == pytest.approx(speedup, rel=1e-3)
    assert found["speedup_low"] == pytest.approx(speedup, rel=2e-3)
    assert found["speedup_high"] == pytest.approx(speedup, rel=2e-3)
    assert found["verdict"] == verdict


def test_the_library_is_compared_with_the_baseline_though_it_has_no_launch_shape(run: Run) -> None:
    found = row(run, "torch", block=None)
    assert found["speedup"] == pytest.approx(2.0, rel=1e-3)
    assert found["verdict"] == "faster"
    assert pd.isna(found["block"])


def test_the_library_is_compared_with_the_baselines_fastest_shape(tmp_path: Path) -> None:
    records = [*timed("v0", 1000.0, 64), *timed("v0", 800.0, 128), *timed("torch", 400.0, None)]
    run = Run(tmp_path, INFO, records)
    assert row(run, "torch", block=None)["speedup"] == pytest.approx(2.0, rel=1e-3)


def test_times_and_intervals_are_those_of_the_rounds(run: Run) -> None:
    found = row(run, "fast")
    assert found["rounds"] == 7
    assert found["placements"] == 1
    assert found["samples"] == 21
    logs = np.log([250 * d for d in DRIFT])
    low, high = stats.t.interval(0.95, 6, logs.mean(), stats.sem(logs))
    assert found["median_ns"] == pytest.approx(250 * CENTRE)
    assert found["ci_low_ns"] == pytest.approx(np.exp(low))
    assert found["ci_high_ns"] == pytest.approx(np.exp(high))


def test_bandwidth_and_its_share_of_the_ceiling_follow_from_the_compulsory_bytes(run: Run) -> None:
    found = row(run, "fast")
    assert found["bytes"] == 8000
    assert found["gbps"] == pytest.approx(8000 / (250 * CENTRE))  # 24.9 bytes per nanosecond
    assert found["pct_of_ceiling"] == pytest.approx(100 * 8000 / (250 * CENTRE) / 64)
    assert not found["above_ceiling"]


def test_what_is_certainly_above_its_ceiling_is_an_error_of_measurement(tmp_path: Path) -> None:
    # 8000 bytes in at most 150.2 ns are at least 53.3 GB/s.
    for high, above in ((53.2e9, True), (53.4e9, False)):
        ceiling = Ceiling("read_bandwidth", 45e9, 44e9, high, "byte/s", "", (45e9,))
        run = Run(tmp_path, INFO, [*timed("v0", 1000.0), *timed("fast", 100.0), ceiling])
        assert row(run, "fast")["above_ceiling"] == above
        assert row(run, "fast")["verdict"] == ("invalid" if above else "faster")


def test_arithmetic_above_its_ceiling_is_an_error_of_measurement(
    tmp_path: Path,
) -> None:
    # 1000 flops in at most 150.2 ns are at least 6.66 GFLOP/s.
    for high, above in ((6.6e9, True), (6.7e9, False)):
        rate = Ceiling("fp32_rate", 6e9, 5.9e9, high, "flop/s", "", (6e9,))
        run = Run(tmp_path, INFO, [*timed("v0", 1000.0), *timed("fast", 100.0), rate])
        assert row(run, "fast")["above_ceiling"] == above


def test_a_wrong_variant_has_no_speedup_and_no_rank(run: Run) -> None:
    found = row(run, "wrong")
    assert found["status"] == "failed"
    assert found["reason"] == "its reason"
    assert found["verdict"] == "invalid"
    assert pd.isna(found["speedup"])
    assert pd.isna(found["speedup_low"])
    group = [planned(v) for v in ("v0", "fast", "wrong")]
    assert [p.variant for p in run.timings.fastest(group)] == ["v0", "fast"]


def test_a_wrong_baseline_leaves_the_others_their_times_and_the_first_of_them_to_compare_with(
    tmp_path: Path,
) -> None:
    wrong = timed("v0", 1000.0, status="failed")
    run = Run(tmp_path, INFO, [*wrong, *timed("fast", 250.0), *timed("slow", 500.0)])
    found = row(run, "slow")
    assert found["verdict"] == "slower"
    assert found["speedup"] == pytest.approx(0.5)
    assert row(run, "fast")["median_ns"] == pytest.approx(250 * CENTRE)


def test_rounds_of_different_tries_are_not_paired(tmp_path: Path) -> None:
    p, q = planned("v0"), planned("fast")
    late: list[Record] = [Round(q.case, "cold", 100 + i, False, (1.0,)) for i in range(7)]
    run = Run(tmp_path, INFO, [*timed("v0", 1000.0), q, *late, Outcome(q.case, "ok")])
    assert run.compare(q.case, p.case).ratio is None
    assert row(run, "fast")["verdict"] == "invalid"


def test_too_few_rounds_give_no_interval_and_no_numbers(tmp_path: Path) -> None:
    p = planned("v0")
    run = Run(tmp_path, INFO, [p, *rounds(p, [1.0] * 2), Outcome(p.case, "ok")])
    found = row(run, "v0")
    assert found["rounds"] == 2
    assert pd.isna(found["median_ns"])
    assert pd.isna(found["verdict"])


def test_the_last_outcome_counts_and_a_case_without_one_was_not_reached(tmp_path: Path) -> None:
    p, q = planned("v0"), planned("fast")
    run = Run(tmp_path, INFO, [p, q, Outcome(p.case, "failed", "first"), Outcome(p.case, "ok")])
    assert run.outcomes[p.case].status == "ok"
    assert run.outcomes[q.case] == Outcome(q.case, "skipped", "not reached: the run ended first")


def test_resources_are_the_worst_step_and_occupancy_the_first(tmp_path: Path) -> None:
    p = planned("v0")
    steps: list[Record] = [
        Compiled(p.case, 1, "b", "", "", 40, 64, 8, 0, 64, 0.25, "registers"),
        Compiled(p.case, 0, "a", "", "", 16, 128, 0, 0, 64, 0.5, "warps"),
    ]
    found = row(Run(tmp_path, {**INFO, "backend": "emulator"}, [p, *steps]), "v0", "")
    assert (found["registers"], found["shared_bytes"], found["spill_bytes"]) == (40, 128, 8)
    assert found["occupancy_theoretical"] == 0.5


def test_an_emulated_run_has_one_row_a_case_and_no_time(tmp_path: Path) -> None:
    p = planned("v0")
    count = Counted(p.case, 0, "twice", "m", 3.0, "inst", "ptx-level")
    run = Run(tmp_path, {**INFO, "backend": "emulator"}, [p, count, Outcome(p.case, "ok")])
    assert not run.is_timed
    found = row(run, "v0", "")
    for name in ("rounds", "median_ns", "gbps", "speedup", "verdict", "pct_of_ceiling"):
        assert pd.isna(found[name]), name
    assert run.counters.to_dict("records") == [
        {"case": p.case, "step": 0, "kernel": "twice", "metric": "m", "value": 3.0, "unit": "inst",
         "provenance": "ptx-level", "reason": None}
    ]  # fmt: skip


def test_steps_are_medians_over_rounds(tmp_path: Path) -> None:
    p = planned("v0")
    apart = [((1.0, 2.0, 9.0), (10.0,)), ((4.0,), (20.0,)), ((3.0,), (60.0,))]
    records = [Round(p.case, "cold", i, False, (50.0,), steps) for i, steps in enumerate(apart)]
    run = Run(tmp_path, INFO, [p, *records])
    assert run.timings.step_times(p.case, "cold") == [3.0, 20.0]  # of 2, 4, 3 and of 10, 20, 60
    assert run.timings.step_times(p.case, "warm") == []


def test_the_columns_are_those_promised_in_their_order(run: Run) -> None:
    assert list(run.results.columns) == [
        "problem", "variant", "dtype", "n", "block", "backend", "cache", "status", "reason",
        "rounds", "samples", "median_ns", "ci_low_ns", "ci_high_ns", "bytes", "flops", "gbps",
        "pct_of_ceiling", "speedup", "speedup_low", "speedup_high", "verdict", "registers",
        "shared_bytes", "spill_bytes", "occupancy_theoretical", "case", "placements",
        "spread_between", "spread_within", "above_ceiling",
    ]  # fmt: skip


def test_a_folder_comes_back_as_written_and_a_missing_value_is_an_empty_cell(
    tmp_path: Path,
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(INFO))
    records = [*timed("v0", 1000.0), *timed("torch", 500.0, None)]
    with Journal(tmp_path / "journal.jsonl") as journal:
        for record in records:
            journal.append(record)
    run = tables.load(tmp_path)
    assert run.records == records
    tables.write(run)
    text = (tmp_path / "results.csv").read_text()
    assert "nan" not in text.lower()
    back = pd.read_csv(tmp_path / "results.csv")
    torch = back[(back.variant == "torch") & (back.cache == "cold")].iloc[0]
    assert torch.speedup == pytest.approx(2.0, rel=1e-3)
    assert pd.isna(torch.block)
    assert pd.isna(torch.pct_of_ceiling)
    assert (tmp_path / "counters.csv").read_text().startswith("case,step,kernel,metric,value,unit")


@pytest.mark.parametrize("content", [None, "", "{", "\xff"])
def test_a_folder_without_a_readable_run_json_says_what_to_do(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(JournalError, match=r"run\.json cannot be read.*\n.*make bench"):
        tables.load(tmp_path)


def test_verified_launches_are_a_table_of_their_own(tmp_path: Path) -> None:
    record = Verified(
        "double", "v0", "float32", {"n": 3}, {"block": 64}, "test", 1, False, "NaN", None
    )
    [found] = Run(tmp_path, INFO, [record]).verified.to_dict("records")
    assert found["sizes"] == "n=3"
    assert found["reason"] == "NaN"
    assert not found["ok"]
