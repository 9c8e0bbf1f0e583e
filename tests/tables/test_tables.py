"""Tables compared with speed-ups, medians and shares worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from harness import tables
from harness.errors import JournalError, UsageError
from harness.journal.counter_records import Counted
from harness.journal.file import Journal
from harness.journal.records import Ceiling, Compiled, Outcome, Planned, Record, Round, Verified
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
    """Rounds with one outlier in each batch, which the trimmed mean leaves out."""
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


def test_what_may_still_be_in_the_l2_cache_exceeds_no_ceiling(tmp_path: Path) -> None:
    # 8000 bytes in at most 150.2 ns are 53.3 GB/s or more; without the last 1000 written, 46.6.
    ceiling = Ceiling("read_bandwidth", 45e9, 44e9, 50e9, "byte/s", "", (45e9,))
    for written, held, above in ((4000, 1000, False), (4000, 100, True), (0, 1000, True)):
        records = [replace(r, written_bytes=written) if isinstance(r, Planned) else r
                   for r in (*timed("v0", 1000.0), *timed("fast", 100.0), ceiling)]  # fmt: skip
        run = Run(tmp_path, {**INFO, "device": {"l2_bytes": held}}, records)
        assert row(run, "fast")["above_ceiling"] == above


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


def _two_steps(tmp_path: Path, *more: Record) -> Run:
    p = planned("v0")
    steps: list[Record] = [
        Compiled(p.case, 1, "b", "", "", 40, 64, 8, 0, 64, 0.25, "registers"),
        Compiled(p.case, 0, "a", "", "", 16, 128, 0, 0, 64, 0.5, "warps"),
    ]
    return Run(tmp_path, INFO, [p, *steps, *more])


def _resources(run: Run, cache: str) -> tuple[Any, ...]:
    names = "registers", "shared_bytes", "spill_bytes", "occupancy_theoretical"
    found = row(run, "v0", cache)
    return tuple(found[name] for name in names)


@pytest.mark.parametrize(("first", "second", "main"), [(900.0, 100.0, 0), (100.0, 900.0, 1)])
def test_resources_are_those_of_the_step_that_takes_longest(
    tmp_path: Path, first: float, second: float, main: int
) -> None:
    case = planned("v0").case
    apart = [Round(case, "cold", i, False, (1e3,), ((first,), (second,))) for i in range(3)]
    run = _two_steps(tmp_path, *apart)
    assert _resources(run, "cold") == [(16, 128, 0, 0.5), (40, 64, 8, 0.25)][main]


def test_without_times_they_are_those_of_the_step_with_most_instructions(tmp_path: Path) -> None:
    case = planned("v0").case
    counts = [
        Counted(case, step, "k", "smsp__inst_executed.sum", value, "inst", "ptx-level")
        for step, value in enumerate((10.0, 20.0))
    ]
    assert _resources(_two_steps(tmp_path, *counts), "") == (40, 64, 8, 0.25)
    assert _resources(_two_steps(tmp_path), "") == (16, 128, 0, 0.5)


def test_counters_stand_in_the_order_of_the_matrix_however_they_were_collected(
    tmp_path: Path,
) -> None:
    cases = [planned(variant) for variant in ("v0", "fast")]
    counts = [
        Counted(p.case, step, "k", metric, 1.0, "", "ncu")
        for p in cases
        for step in (0, 1)
        for metric in ("a", "b")
    ]
    first = Run(tmp_path, INFO, [*cases, *counts]).counters
    other = Run(tmp_path, INFO, [*cases, *reversed(counts)]).counters
    assert first.case.iloc[0] == cases[0].case
    pd.testing.assert_frame_equal(first, other)


def test_arithmetic_that_binds_is_rated_against_its_own_ceiling(tmp_path: Path) -> None:
    ceilings = [Ceiling("read_bandwidth", 64e9, 64e9, 64e9, "byte/s", "", ()),
                Ceiling("fp32_rate", 10e9, 10e9, 10e9, "flop/s", "", ())]  # fmt: skip
    records = [
        Planned(**{**vars(r), "flops": 8000}) if isinstance(r, Planned) else r
        for r in timed("v0", 1000.0)
    ]
    found = row(Run(tmp_path, INFO, [*records, *ceilings]), "v0")
    assert found["pct_of_ceiling"] == pytest.approx(100 * 8000 / (1000 * CENTRE) / 10)


def test_a_ladder_has_one_row_per_variant_as_shown_and_the_fastest_first(tmp_path: Path) -> None:
    records = [*timed("v0", 1000.0, 64), *timed("v0", 800.0, 128), *timed("fast", 200.0, 64),
               *timed("fast", 300.0, 128), *timed("torch", 400.0, None)]  # fmt: skip
    records = [
        Planned(**{**vars(r), "builds_on": "v0"})
        if isinstance(r, Planned) and r.variant == "fast"
        else r
        for r in records
    ]
    run = Run(tmp_path, INFO, records)
    found = run.ladder("double")
    assert list(found.index) == ["fast", "torch", "v0"]
    assert list(found.block.fillna(0)) == [64, 0, 128]
    assert found.speedup["fast"] == pytest.approx(4.0, rel=1e-3)
    assert found.over_parent["fast"] == pytest.approx(4.0, rel=1e-3)
    assert found.over_parent_verdict["fast"] == "faster"
    assert pd.isna(found.over_parent["torch"])
    assert set(run.results.query("shown and cache == 'cold'").case) == set(found.case)


def test_a_ladder_that_is_not_in_the_run_says_what_is(run: Run) -> None:
    with pytest.raises(UsageError, match=r"no softmax\n  it has: double float32 n=1000"):
        run.ladder("softmax")
    with pytest.raises(UsageError, match="n=7"):
        run.ladder("double", n=7)


def test_a_run_shows_itself_in_a_notebook_and_escapes_what_it_was_given(run: Run) -> None:
    assert repr(run).startswith("double: timed on an unknown device (5 ok, 1 failed); see .results")
    assert "fast" in repr(run)
    bad = "</script><img src=x onerror=alert(1)>"
    records = [Planned(**{**vars(r), "problem": bad}) if isinstance(r, Planned) else r
               for r in run.records]  # fmt: skip
    html = Run(run.folder, run.info, records)._repr_html_()
    assert "&lt;img" in html
    assert "<img" not in html


def test_text_that_a_spreadsheet_would_take_for_a_formula_is_written_as_text(
    tmp_path: Path,
) -> None:
    p = planned("v0")
    records = [p, Outcome(p.case, "failed", "=1+1"), Counted(p.case, 0, "@k", "m", -1.0, "", "ncu")]
    tables.write(Run(tmp_path, INFO, records))
    assert pd.read_csv(tmp_path / "results.csv").reason[0] == "'=1+1"
    counters = pd.read_csv(tmp_path / "counters.csv")
    assert counters.kernel[0] == "'@k"
    assert counters.value[0] == -1


def test_an_emulated_run_has_one_row_per_case_and_no_time(tmp_path: Path) -> None:
    p = planned("v0")
    count = Counted(p.case, 0, "twice", "m", 3.0, "inst", "ptx-level")
    run = Run(tmp_path, {**INFO, "backend": "emulator"}, [p, count, Outcome(p.case, "ok")])
    assert not run.is_timed
    found = row(run, "v0", "")
    for name in ("rounds", "median_ns", "gbps", "speedup", "verdict", "pct_of_ceiling"):
        assert pd.isna(found[name]), name
    assert run.counters.to_dict("records") == [
        {"case": p.case, "step": 0, "kernel": "twice", "metric": "m", "value": 3.0, "unit": "inst",
         "provenance": "ptx-level", "reason": None, "origin": "emulated"}
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
        "spread_between", "spread_within", "shown", "library", "builds_on", "above_ceiling",
        "between_events_ns", "roof",
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
