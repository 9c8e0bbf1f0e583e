"""Tables against speed-ups, medians and shares worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

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
"""Of seven rounds: for 95 % the interval of a median of seven is least to greatest (2 / 2^7)."""


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
    """One launch far off in each batch: the batch counts by its median."""
    return [
        Round(p.case, cache, i, repeat, (t, t, t * 50)) for i, t in enumerate(times)
    ]  # fmt: skip


def timed(variant: str, cost: float, block: int | None = 64, status: Any = "ok") -> list[Record]:
    p = planned(variant, block)
    records: list[Record] = [p, *rounds(p, [cost * d for d in DRIFT])]
    if p.is_baseline:
        records += rounds(p, [cost * d * 1.002 for d in DRIFT], repeat=True)
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
    assert found["speedup"] == pytest.approx(speedup)
    assert found["speedup_low"] == pytest.approx(speedup)
    assert found["speedup_high"] == pytest.approx(speedup)
    assert found["verdict"] == verdict


def test_the_library_is_compared_with_the_baseline_though_it_has_no_launch_shape(run: Run) -> None:
    found = row(run, "torch", block=None)
    assert found["speedup"] == pytest.approx(2.0)
    assert found["verdict"] == "faster"
    assert pd.isna(found["block"])


def test_the_library_is_compared_with_the_baselines_fastest_shape(tmp_path: Path) -> None:
    records = [*timed("v0", 1000.0, 64), *timed("v0", 800.0, 128), *timed("torch", 400.0, None)]
    run = Run(tmp_path, INFO, records)
    assert row(run, "torch", block=None)["speedup"] == pytest.approx(2.0)


def test_medians_and_intervals_are_those_of_the_rounds(run: Run) -> None:
    found = row(run, "fast")
    assert found["rounds"] == 7
    assert found["samples"] == 21
    assert found["median_ns"] == pytest.approx(250 * 1.3)
    assert found["ci_low_ns"] == pytest.approx(250 * 1.0)
    assert found["ci_high_ns"] == pytest.approx(250 * 1.6)


def test_bandwidth_and_its_share_of_the_ceiling_follow_from_the_compulsory_bytes(run: Run) -> None:
    found = row(run, "fast")
    assert found["bytes"] == 8000
    assert found["gbps"] == pytest.approx(8000 / 325)  # 24.6 bytes a nanosecond
    assert found["pct_of_ceiling"] == pytest.approx(100 * 8000 / 325 / 64)
    assert not found["above_ceiling"]


def test_what_is_certainly_above_its_ceiling_is_an_error_of_measurement(tmp_path: Path) -> None:
    # 8000 bytes in at most 160 ns are at least 50 GB/s.
    for high, above in ((49.9e9, True), (50.1e9, False)):
        ceiling = Ceiling("read_bandwidth", 45e9, 44e9, high, "byte/s", "", (45e9,))
        run = Run(tmp_path, INFO, [*timed("v0", 1000.0), *timed("fast", 100.0), ceiling])
        assert row(run, "fast")["above_ceiling"] == above
        assert row(run, "fast")["verdict"] == ("invalid" if above else "faster")


def test_arithmetic_above_its_ceiling_is_an_error_of_measurement(
    tmp_path: Path,
) -> None:
    # 1000 flops in at most 160 ns are at least 6.25 GFLOP/s.
    for high, above in ((6.2e9, True), (6.3e9, False)):
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
    assert [p.variant for p in run.fastest_shapes(group)] == ["v0", "fast"]


def test_nothing_is_compared_with_a_wrong_baseline(tmp_path: Path) -> None:
    run = Run(tmp_path, INFO, [*timed("v0", 1000.0, status="failed"), *timed("fast", 250.0)])
    found = row(run, "fast")
    assert found["verdict"] == "invalid"
    assert pd.isna(found["speedup"])
    assert found["median_ns"] == pytest.approx(325)


def test_the_noise_floor_is_what_the_baselines_second_batch_cannot_exclude(run: Run) -> None:
    assert run.floor(planned("fast").case, "cold") == pytest.approx(0.002)


def test_a_difference_within_the_noise_floor_is_not_called_faster(tmp_path: Path) -> None:
    p = planned("v0")
    noisy: list[Record] = [
        p, *rounds(p, [1000.0] * 7), *rounds(p, [1100.0] * 7, repeat=True), Outcome(p.case, "ok"),
    ]  # fmt: skip
    run = Run(tmp_path, INFO, [*noisy, *timed("near", 1000 / 1.05 / 1.3), *timed("far", 500.0)])
    assert run.floor(p.case, "cold") == pytest.approx(0.1)
    flat = planned("flat")
    run = Run(
        tmp_path, INFO, [*noisy, flat, *rounds(flat, [1000 / 1.05] * 7), Outcome(flat.case, "ok")]
    )
    assert row(run, "flat")["speedup"] == pytest.approx(1.05)
    assert row(run, "flat")["verdict"] == "unclear"


def test_without_a_second_batch_of_the_baseline_nothing_is_decided(tmp_path: Path) -> None:
    records = [r for r in timed("v0", 1000.0) if not (isinstance(r, Round) and r.repeat)]
    run = Run(tmp_path, INFO, [*records, *timed("fast", 250.0)])
    assert run.floor(planned("fast").case, "cold") == math.inf
    assert row(run, "fast")["verdict"] == "invalid"


def test_rounds_of_different_tries_are_not_paired(tmp_path: Path) -> None:
    p, q = planned("v0"), planned("fast")
    late: list[Record] = [Round(q.case, "cold", 100 + i, False, (1.0,)) for i in range(7)]
    run = Run(tmp_path, INFO, [*timed("v0", 1000.0), q, *late, Outcome(q.case, "ok")])
    assert run.compare(q.case, p.case).ratio is None
    assert row(run, "fast")["verdict"] == "invalid"


def test_too_few_rounds_give_no_interval_and_no_numbers(tmp_path: Path) -> None:
    p = planned("v0")
    run = Run(tmp_path, INFO, [p, *rounds(p, [1.0] * 5), Outcome(p.case, "ok")])
    found = row(run, "v0")
    assert found["rounds"] == 5
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
    assert run.step_times(p.case, "cold") == [3.0, 20.0]  # of 2, 4, 3 and of 10, 20, 60
    assert run.step_times(p.case, "warm") == []


def test_the_columns_are_those_promised_in_their_order(run: Run) -> None:
    assert list(run.results.columns) == [
        "problem", "variant", "dtype", "n", "block", "backend", "cache", "status", "reason",
        "rounds", "samples", "median_ns", "ci_low_ns", "ci_high_ns", "bytes", "flops", "gbps",
        "pct_of_ceiling", "speedup", "speedup_low", "speedup_high", "verdict", "registers",
        "shared_bytes", "spill_bytes", "occupancy_theoretical", "case", "above_ceiling",
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
    assert torch.speedup == pytest.approx(2.0)
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
