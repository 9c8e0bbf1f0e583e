"""The headline claims what the data shows and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup
from profiled import profiled
from synthetic_runs import BLOCKS, SIZES, WRONG, Bench

from harness.analysis.causes.why import Explainer
from harness.analysis.ladder import ladders
from harness.analysis.readings import Readings
from harness.journal.records import Ceiling, Outcome, Planned
from harness.report.links import Links
from harness.report.pages import headline as sentences
from harness.report.pages.headline import Story
from harness.tables import Run

Make = Callable[..., Bench]
ONE = {"sizes": SIZES[2:], "launches": BLOCKS[:2], "rounds": 12}


LINKS = Links({"reduce_sum": "reduce_sum"}, "../", "reduce_sum")


def story(run: Run) -> Story:
    own = ladders(run)
    explainer = Explainer(Readings(run))
    steps = [{s.after.variant: s for s in explainer.steps(x.key)} for x in own]
    return sentences.timed(own, steps, LINKS)


def headline(run: Run) -> str:
    return plain(story(run).headline)


def detail(run: Run) -> str:
    return plain(story(run).detail)


def plain(text: Markup) -> str:
    return text.striptags().replace("\u202f", " ")


def test_the_winner_is_named_with_its_ratios_and_its_share_of_the_ceiling(
    bench: Make, tmp_path: Path
) -> None:
    said = headline(bench(**ONE).timed(tmp_path))
    assert said.startswith("v12 is fastest at n = 2²⁸: 11.9× v0, 1.045× torch, 95.")
    assert said.endswith("% of the read ceiling.")


def test_the_runner_up_is_named_with_its_gap_and_how_certain_that_is(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(gbps={**few, "v12_last": 4400.0}, **ONE).timed(tmp_path)
    said = detail(run)
    assert said.startswith("Runner-up is v9, 2.0")
    assert "% slower; certain: two runs of the same kernel differ by at most 0." in said


def test_the_last_gains_are_told_with_their_causes(bench: Make, tmp_path: Path) -> None:
    gbps = {"v0_global_memory": 367.0, "v1_shared_memory": 433.0, "v2_no_divergence": 500.0,
            "v3_no_bank_conflict": 900.0}  # fmt: skip
    said = detail(profiled(bench(gbps=gbps, **ONE), tmp_path))
    assert "Its last gains: v2 over v1 1.16× (no counter explains it), v3 over v2 1.80× (" in said
    assert "v3 over v2 1.80× (fewer bank conflicts)" in said


def test_a_step_that_gained_nothing_is_no_gain(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    said = detail(bench(gbps={**few, "v12_last": 4311.0}, **ONE).timed(tmp_path))
    assert "v12 over v9" not in said
    assert "Its last gain: v9 over v0 11." in said


def test_without_a_second_run_of_the_baseline_nothing_is_called_certain(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(gbps=few, **ONE).timed(tmp_path)
    once = [r for r in run.records if not (r.kind == "round" and r.repeat)]
    said = detail(Run(tmp_path, run.info, once))
    assert "certain" not in said
    assert "nothing in this run says how much equal kernels differ" in said


def test_where_the_baseline_failed_what_stands_in_for_it_is_said(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    gbps = {**few, "v12_last": 4400.0}
    said = headline(bench(gbps=gbps, failed={"v0_global_memory": WRONG}, **ONE).timed(tmp_path))
    assert "× v9, which stands in for the baseline that failed" in said


def test_several_libraries_are_named_the_fastest_first(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    gbps = {**few, "cub": 4300.0}
    said = headline(bench(gbps=gbps, libraries=("torch", "cub"), **ONE).timed(tmp_path))
    assert re.search(r"(same as|1\.0\d+×) cub.*, 1\.02\d?× torch", said)


def test_two_that_are_the_same_are_both_named(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    said = headline(bench(gbps={**few, "v12_last": 4311}, **ONE).timed(tmp_path))
    assert "v9 and v12" in said or "v12 and v9" in said
    assert "are the same at n = 2²⁸" in said
    assert "certain" not in said


def test_two_whose_difference_is_unclear_cannot_be_told_apart(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    said = headline(bench(gbps={**few, "v12_last": 4311}, noise=0.1, **ONE).timed(tmp_path))
    assert "cannot be told apart at n = 2²⁸" in said


def test_many_that_are_the_same_are_counted(bench: Make, tmp_path: Path) -> None:
    alike = {"v0_global_memory": 367.0} | {f"v{i}_x": 4000.0 + i / 10 for i in range(1, 8)}
    said = headline(bench(gbps=alike, **ONE).timed(tmp_path))
    assert "and 4 more are the same" in said


def test_with_no_library_none_is_mentioned(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    del few["torch"]
    said = headline(bench(gbps=few, **ONE).timed(tmp_path))
    assert said.startswith("v9 is fastest")
    assert "torch" not in said


def test_a_winner_slower_than_the_library_is_said_to_be(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    said = headline(bench(gbps={**few, "torch": 4500.0}, **ONE).timed(tmp_path))
    assert "0.959× torch (slower)" in said


def test_with_no_ceiling_the_rate_stands_alone(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    said = headline(bench(gbps=few, ceilings=False, **ONE).timed(tmp_path))
    assert "GB/s, no ceiling measured" in said
    assert "%" not in said.split(";")[0]


def test_a_wrong_variant_never_wins(bench: Make, few: dict[str, float], tmp_path: Path) -> None:
    run = bench(gbps={**few, "v5_wrong": 4400}, failed={"v5_wrong": WRONG}, **ONE).timed(tmp_path)
    assert headline(run).startswith("v9 is fastest")


def test_a_result_above_the_ceiling_never_wins(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(gbps={**few, "v5_impossible": 9000}, **ONE).timed(tmp_path)
    assert headline(run).startswith("v9 is fastest")
    told = story(run)
    assert "Not ranked: v5" in plain(told.further[-1])


def test_when_all_failed_nothing_is_ranked(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    failed = dict.fromkeys(few, WRONG)
    run = bench(gbps=few, failed=failed, failed_after_timing=True, **ONE).timed(tmp_path)
    said = headline(run)
    assert said == "At n = 2²⁸ nothing can be ranked: 2 failed."


def test_a_single_variant_is_not_said_to_be_fastest(bench: Make, tmp_path: Path) -> None:
    said = headline(bench(gbps={"v0_global_memory": 367.0}, **ONE).timed(tmp_path))
    assert said.startswith("v0 is the only variant ranked at n = 2²⁸: the baseline itself")


def test_the_largest_size_is_the_headline_and_the_others_follow(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    told = story(bench(gbps=few, rounds=8).timed(tmp_path))
    assert "n = 2²⁸" in told.headline
    assert ["n = 2²⁴" in told.further[0], "n = 2²⁰" in told.further[1]] == [True, True]


def test_of_many_sizes_all_but_a_few_are_folded(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    sizes = [{"n": 2**20 + 1000 * i} for i in range(9)]
    told = story(bench(gbps=few, rounds=8, sizes=sizes).timed(tmp_path))
    assert (len(told.further), len(told.folded)) == (3, 5)
    assert "n = 1,049,576" in told.folded[3]


def test_arithmetic_bound_work_is_rated_in_flops(
    bench: Make, few: dict[str, float], tmp_path: Path
) -> None:
    run = bench(gbps=few, **ONE).timed(tmp_path)
    records = [replace(r, flops=1000 * r.bytes) if r.kind == "planned" else r for r in run.records]
    slow = [replace(r, value=1e13) if isinstance(r, Ceiling) else r for r in records]
    ladder = ladders(Run(tmp_path, run.info, slow))[0]
    assert ladder.measure.unit == "GFLOP/s"
    assert ladder.winner is None  # a thousand flops per byte is above the FP32 ceiling


def test_an_emulated_run_is_summed_up_by_what_was_verified(bench: Make, tmp_path: Path) -> None:
    run = bench(sizes=SIZES[:1]).emulated(tmp_path)
    said = plain(sentences.emulated(run, "reduce_sum", "float32").headline)
    assert said == (
        "All 16 variants verified at n = 1 … 1,000,003 against float64 "
        "(worst error 0.2 of its bound)."
    ).replace("0.2", said.split("worst error ")[1].split(" ")[0])


def test_an_emulated_run_names_what_failed(bench: Make, tmp_path: Path) -> None:
    run = bench(sizes=SIZES[:1], failed={"v5_unroll_last_warp": WRONG}).emulated(tmp_path)
    said = plain(sentences.emulated(run, "reduce_sum", "float32").headline)
    assert said.startswith("15 of 16 variants verified")
    assert said.endswith("; v5_unroll_last_warp failed.")


def test_what_the_emulator_cannot_execute_is_skipped_with_the_reason_and_not_counted(
    bench: Make, tmp_path: Path
) -> None:
    why = "a Python function needs a GPU"
    run = bench(sizes=SIZES[:1]).emulated(tmp_path)
    records = []
    for record in run.records:
        variant = getattr(record, "variant", "") or getattr(record, "case", "").split("/")[1:2]
        if variant in ("v5_unroll_last_warp", ["v5_unroll_last_warp"]):
            if isinstance(record, Planned):
                records += [record, Outcome(record.case, "skipped", why)]
            continue
        records.append(record)
    said = sentences.emulated(Run(tmp_path, run.info, records), "reduce_sum", "float32")
    assert plain(said.headline).startswith("All 15 variants verified")
    assert plain(said.detail) == f"v5_unroll_last_warp skipped: {why}."
