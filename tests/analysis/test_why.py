"""The explanation of a step claims only what the counters support according to the rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis.causes import rules
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.finders import evaluate
from harness.analysis.lines.sources import difference
from harness.analysis.readings import Missing, Reading, Readings
from harness.journal.records import Conditions
from harness.quantities import QUANTITIES
from harness.statistics.net_times import Group
from harness.tables import Run

WAVES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
INSTRUCTIONS = "smsp__inst_executed.sum"


def conflicts(times_ideal: float, instructions: float = 1e6) -> dict[str, float]:
    return {WAVES: 1000 * times_ideal, IDEAL: 1000.0, INSTRUCTIONS: instructions}


def step_of(before: Variant, after: Variant) -> LadderStep:
    run = run_of({"v0_before": before, "v1_after": after})
    return Explainer(Readings(run)).compare(case_of(run, "v0_before"), case_of(run, "v1_after"))


def causes(step: LadderStep) -> list[str]:
    return [cause.text for cause in step.finding.causes]


def steps_of(run: Run) -> list[LadderStep]:
    return Explainer(Readings(run)).steps(_only(run))


def _only(run: Run) -> Group:
    [group] = run.groups()
    return group


def test_fewer_bank_conflicts_are_named_where_they_vanish_with_the_time() -> None:
    step = step_of(
        Variant(times={256: 2e6}, counters=[conflicts(3.3)]),
        Variant(times={256: 1e6}, counters=[conflicts(1.0)]),
    )
    assert step.speed is not None
    assert step.speed.verdict == "faster"
    assert step.finding.verdict == "supported"
    assert causes(step) == ["fewer bank conflicts"]
    assert step.moved[0].quantity.key == "wavefronts-over-ideal"
    assert step.moved[0].pair == (pytest.approx(3.3), 1.0)


def test_a_counter_that_moved_the_wrong_way_explains_nothing() -> None:
    step = step_of(
        Variant(times={256: 2e6}, counters=[conflicts(1.0)]),
        Variant(times={256: 1e6}, counters=[conflicts(3.3)]),
    )
    assert step.finding.verdict == "unexplained"


def test_a_small_change_does_not_explain_a_large_one() -> None:
    step = step_of(
        Variant(times={256: 4e6}, counters=[conflicts(1.0, 1.2e6)]),
        Variant(times={256: 1e6}, counters=[conflicts(1.0, 1.0e6)]),
    )
    assert step.finding.verdict == "unexplained"


def test_the_same_change_explains_a_change_of_its_own_size() -> None:
    step = step_of(
        Variant(times={256: 1.2e6}, counters=[conflicts(1.0, 1.2e6)]),
        Variant(times={256: 1e6}, counters=[conflicts(1.0, 1.0e6)]),
    )
    assert causes(step) == ["fewer instructions"]


def test_a_slower_step_is_explained_by_what_the_faster_one_has() -> None:
    step = step_of(
        Variant(times={256: 1e6}, counters=[conflicts(1.0)]),
        Variant(times={256: 2e6}, counters=[conflicts(3.3)]),
    )
    assert step.speed is not None
    assert step.speed.verdict == "slower"
    assert causes(step) == ["fewer bank conflicts"]


def test_two_that_are_not_told_apart_have_nothing_to_explain() -> None:
    step = step_of(Variant(counters=[conflicts(3.3)]), Variant(counters=[conflicts(1.0)]))
    assert step.finding.verdict == "nothing"


def test_without_counters_no_cause_is_named() -> None:
    step = step_of(Variant(times={256: 2e6}), Variant(times={256: 1e6}))
    assert step.finding.verdict == "uncounted"


def test_without_times_changes_are_shown_and_nothing_is_said_of_speed() -> None:
    step = step_of(
        Variant(times={256: None}, counters=[conflicts(3.3)]),
        Variant(times={256: None}, counters=[conflicts(1.0)]),
    )
    assert step.speed is None
    assert step.finding.verdict == "untimed"
    assert [c.quantity.key for c in step.moved] == ["wavefronts-over-ideal"]


def test_a_read_and_an_emulated_counter_are_not_compared() -> None:
    step = step_of(
        Variant(counters=[conflicts(3.3)]),
        Variant(counters=[conflicts(1.0)], provenance="emulator-exact"),
    )
    assert all(c.pair is None for c in step.changes if c.quantity.key.startswith("wavefronts"))


def test_a_launch_saved_explains_the_time_that_it_had_taken() -> None:
    step = step_of(Variant(times={256: 1.10e6}, steps=(1e6, 1e5)), Variant(times={256: 1.0e6}))
    assert causes(step) == ["one launch fewer"]


def test_a_launch_saved_does_not_explain_ten_times_what_it_had_taken() -> None:
    step = step_of(Variant(times={256: 2.0e6}, steps=(1.9e6, 1e5)), Variant(times={256: 1.0e6}))
    assert step.finding.verdict == "uncounted"


def test_a_step_follows_what_a_variant_builds_on_and_not_the_order_of_the_file() -> None:
    run = run_of({
        "v0": Variant(), "v1": Variant(builds_on="v0"), "t1": Variant(builds_on="v0"),
        "v2": Variant(builds_on="v1"), "alone": Variant(),
    })  # fmt: skip
    found = [(s.before.variant, s.after.variant) for s in steps_of(run)]
    assert found == [("v0", "v1"), ("v0", "t1"), ("v1", "v2")]


def test_where_nothing_says_what_builds_on_what_there_are_no_steps() -> None:
    run = run_of({"v0_a": Variant(), "v1_b": Variant()})
    assert steps_of(run) == []
    assert not run.tells_what_builds_on_what


def test_both_are_taken_at_the_launch_shape_that_they_are_shown_at() -> None:
    run = run_of({
        "v0_before": Variant(times={128: 1e6, 256: 1.5e6}),
        "v1_after": Variant(times={128: 9e5, 256: 8e5}, builds_on="v0_before"),
    })  # fmt: skip
    [step] = steps_of(run)
    assert not step.same_shape
    assert step.speed is not None
    assert step.speed.ratio is not None
    assert step.speed.ratio.value == pytest.approx(1.25, rel=1e-2)
    assert step.speed == run.compare(step.after.case, step.before.case)


def test_launch_shapes_are_explained_only_where_they_differ() -> None:
    run = run_of({
        "v0_flat": Variant(times={128: 1e6, 256: 1e6}),
        "v1_steep": Variant(times={128: 1e6, 256: 5e5}),
    })  # fmt: skip
    steps = Explainer(Readings(run)).shapes(_only(run))
    assert [(s.after.variant, s.after.launch) for s in steps] == [("v1_steep", {"block": 256})]
    assert steps[0].identical


def test_identical_machine_code_has_no_cause_whatever_its_time() -> None:
    step = step_of(
        Variant(times={256: 1.5e6}, counters=[conflicts(3.3)], cubin="cd"),
        Variant(times={256: 1e6}, counters=[conflicts(1.0)], cubin="cd"),
    )
    assert step.speed is not None
    assert step.speed.verdict == "faster"
    assert step.finding.verdict == "identical"
    assert causes(step) == []


@pytest.mark.parametrize("provenance", ["ptx-level", "emulator-model"])
def test_what_is_not_exact_is_shown_and_explains_nothing(provenance: str) -> None:
    step = step_of(
        Variant(times={256: 2e6}, counters=[conflicts(3.3)], provenance=provenance),
        Variant(times={256: 1e6}, counters=[conflicts(1.0)], provenance=provenance),
    )
    assert step.finding.verdict == "uncounted"
    assert [c.quantity.key for c in step.moved] == ["wavefronts-over-ideal"]
    assert not step.moved[0].judges


def test_exact_counts_of_the_emulator_explain() -> None:
    step = step_of(
        Variant(times={256: 2e6}, counters=[conflicts(3.3)], provenance="emulator-exact"),
        Variant(times={256: 1e6}, counters=[conflicts(1.0)], provenance="emulator-exact"),
    )
    assert causes(step) == ["fewer bank conflicts"]


def test_what_a_launch_that_fell_away_had_not_cost_is_not_told() -> None:
    step = step_of(Variant(times={256: 2.0e6}, steps=(1.9e6, 1e3)), Variant(times={256: 1.0e6}))
    assert "launches" not in {c.quantity.key for c in step.moved}


def test_loads_are_wider_only_where_they_bring_more_than_an_element_per_thread() -> None:
    def loads(requests: float, sectors: float) -> dict[str, float]:
        name = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
        zero = {name.format(what, op): 0.0 for what in ("requests", "sectors")
                for op in ("st", "red", "atom")}  # fmt: skip
        return zero | {
            name.format("requests", "ld"): requests,
            name.format("sectors", "ld"): sectors,
        }

    slow, fast = {256: 2e6}, {256: 1e6}
    wide = step_of(Variant(slow, [loads(8e3, 32e3)]), Variant(fast, [loads(2e3, 32e3)]))
    assert causes(wide) == ["wider loads"]
    fuller = step_of(Variant(slow, [loads(16e3, 32e3)]), Variant(fast, [loads(8e3, 32e3)]))
    assert "wider loads" not in causes(fuller)
    less = step_of(Variant(slow, [loads(392e3, 1064e3)]), Variant(fast, [loads(32e3, 132e3)]))
    assert causes(less) == ["fewer accesses to global memory for the same data"]


def test_a_cause_must_be_worth_a_part_of_what_was_saved() -> None:
    clock = [Conditions("g", 0, 1_000_000_000, None, None, None, ())]

    def found(wavefronts: float) -> list[str]:
        counters = [{WAVES: wavefronts * share, IDEAL: wavefronts} for share in (3.3, 1.0)]
        run = run_of({
            "v0_before": Variant(times={256: 2e6}, counters=[counters[0]]),
            "v1_after": Variant(times={256: 1e6}, counters=[counters[1]]),
        })  # fmt: skip
        run = Run(run.folder, {**run.info, "device": {"sm_count": 1}}, [*run.records, *clock])
        cases = case_of(run, "v0_before"), case_of(run, "v1_after")
        return causes(Explainer(Readings(run)).compare(*cases))

    # The slower variant takes 2.3 more wavefronts for each ideal one, at one wavefront per
    # nanosecond, and the step saves a millisecond.
    assert found(1e6) == ["fewer bank conflicts"]
    assert found(1e4) == []


def test_machine_code_is_identical_only_where_every_hash_is() -> None:
    assert step_of(Variant(cubin="cd"), Variant(cubin="cd")).identical
    assert not step_of(Variant(cubin="cd"), Variant(cubin="ef")).identical


def test_the_main_launch_is_the_longest_one() -> None:
    variant = Variant(
        times={256: 1e6}, steps=(1e5, 9e5),
        counters=[{"sm__warps_active.avg": 0.1}, {"sm__warps_active.avg": 0.8}],
    )  # fmt: skip
    run = run_of({"v0": variant})
    answer = evaluate("achieved-occupancy", Readings(run), case_of(run, "v0"))
    assert answer == Reading(0.8, "ncu")


def test_a_missing_counter_keeps_its_reason_and_is_never_zero() -> None:
    why = {"sm__warps_active.avg": "not permitted: ask the administrator"}
    run = run_of({"v0": Variant(missing=why)})
    answer = evaluate("achieved-occupancy", Readings(run), case_of(run, "v0"))
    assert answer == Missing("not permitted: ask the administrator")
    assert answer.short == "not permitted"
    other = evaluate("dram-bytes", Readings(run), case_of(run, "v0"))
    assert other == Missing("not collected")


def test_a_ratio_with_nothing_to_divide_by_does_not_apply() -> None:
    run = run_of({"v0": Variant(counters=[{WAVES: 0.0, IDEAL: 0.0}])})
    answer = evaluate("wavefronts-over-ideal", Readings(run), case_of(run, "v0"))
    assert answer == Missing("not applicable")


def test_every_rule_speaks_of_quantities_that_exist() -> None:
    for rule in rules.RULES:
        own = {rule.quantity, *(key for key, _ in rule.needs), *rule.outdoes}
        assert own | ({rule.amount} - {""}) <= set(QUANTITIES)
        assert bool(rule.way) == (QUANTITIES[rule.quantity].good == "neutral")
        assert rule.threshold > 1


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.key)
def test_no_rule_holds_just_below_its_threshold(rule: rules.Rule) -> None:
    def pairs(better: float) -> dict[str, rules.Pair]:
        level = max(rule.matters, 1.0) * 2
        worse = rules.Pair(level * better, level) if rule.good == "lower" else rules.Pair(
            level, level * better
        )  # fmt: skip
        needs = {
            key: rules.Pair(1e6, 1.0) if QUANTITIES[key].good == "lower" else rules.Pair(1.0, 1e6)
            for key, _ in rule.needs
        }
        outdone = {key: rules.Pair(1.0, 1.0) for key in rule.outdoes}
        return {**needs, **outdone, rule.quantity: worse}

    waits = {name: rules.Pair(2.0, 1.0) for name in rule.waits} if rule.only_waits else {}
    saving = rules.Saving(1.01, 1.0, {}, waits)
    assert rule.holds(pairs(rule.threshold * 1.01), saving)
    assert not rule.holds(pairs(rule.threshold * 0.99), saving)
    better = {key: rules.Pair(2 * rule.threshold, 1.0) for key in rule.outdoes}
    assert rule.holds(pairs(rule.threshold * 1.01) | better, saving) == (not rule.outdoes)


def test_a_source_is_shown_only_if_it_is_what_was_measured(tmp_path: Path) -> None:
    texts = {"p/v0.cu": "one\ntwo\n", "p/v1.cu": "one\nthree\n"}
    shas = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    (tmp_path / "p").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    run = run_of({"v0": Variant(), "v1": Variant()}, sources=shas)
    records = []
    for record in run.records:
        if record.kind == "compiled":
            name = "p/v0.cu" if "/v0/" in record.case else "p/v1.cu"
            record = type(record)(**{**vars(record), "source_sha256": shas[name]})  # noqa: PLW2901
        records.append(record)
    run = type(run)(run.folder, run.info, records)
    cases = case_of(run, "v0"), case_of(run, "v1")
    found = difference(run, *cases, folder=tmp_path)
    assert found.lines[-2:] == ["-two", "+three"]
    (tmp_path / "p/v1.cu").write_text("one\nfour\n")
    assert difference(run, *cases, folder=tmp_path).missing == "p/v1.cu has changed since this run"
    (tmp_path / "p/v1.cu").unlink()
    assert difference(run, *cases, folder=tmp_path).missing == "p/v1.cu is not here"


def order(pairs: Mapping[str, tuple[float, float]], peaks: Mapping[str, float]) -> list[str]:
    found = {key: rules.Pair(*pair) for key, pair in pairs.items()}
    return [rule.key for rule in rules.causes(found, rules.Saving(1.5, 100.0, peaks))]


def test_traffic_comes_after_the_accesses_that_it_follows_from() -> None:
    """A decrease of ten sectors is a decrease of 320 bytes, or of 640 if memory fills the cache in
    pairs of sectors."""
    accesses = {"sectors": (20, 10), "requests": (20, 10), "sectors-over-compulsory": (4, 2)}
    peaks = {"sectors": 1.0, "l2-bytes": 1.0}
    assert order({**accesses, "l2-bytes": (1280, 640)}, peaks) == [
        "redundant-accesses", "l2-traffic",
    ]  # fmt: skip
    assert order({**accesses, "l2-bytes": (1300, 650)}, peaks) == [
        "l2-traffic", "redundant-accesses",
    ]  # fmt: skip


def test_of_rules_with_one_amount_the_larger_change_comes_first() -> None:
    peaks = {"instructions": 1.0}
    pairs = {"instructions": (150, 100), "threads": (64, 32), "acting-threads": (24, 30)}
    assert order(pairs, peaks) == ["threads", "instructions", "divergence"]
