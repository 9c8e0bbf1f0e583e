"""What is said of a step: only what the counters support, by the rules, and no more."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis import rules
from harness.analysis.quantities import BY_KEY, Missing, Reading, Readings
from harness.analysis.sources import difference
from harness.analysis.why import Step, compare, ladder_steps, shape_steps

WAVES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
INSTRUCTIONS = "smsp__inst_executed.sum"


def conflicts(times_ideal: float, instructions: float = 1e6) -> dict[str, float]:
    return {WAVES: 1000 * times_ideal, IDEAL: 1000.0, INSTRUCTIONS: instructions}


def step_of(before: Variant, after: Variant) -> Step:
    run = run_of({"v0_before": before, "v1_after": after})
    return compare(Readings(run), case_of(run, "v0_before"), case_of(run, "v1_after"))


def test_fewer_bank_conflicts_are_named_where_they_vanish_with_the_time() -> None:
    step = step_of(
        Variant(times={256: 2e6}, counters=[conflicts(3.3)]),
        Variant(times={256: 1e6}, counters=[conflicts(1.0)]),
    )
    assert step.speed is not None
    assert step.speed.verdict == "faster"
    assert step.finding.verdict == "supported"
    assert step.finding.causes == ["fewer bank conflicts"]
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
    assert step.finding.causes == ["fewer instructions"]


def test_a_slower_step_is_explained_by_what_the_faster_one_has() -> None:
    step = step_of(
        Variant(times={256: 1e6}, counters=[conflicts(1.0)]),
        Variant(times={256: 2e6}, counters=[conflicts(3.3)]),
    )
    assert step.speed is not None
    assert step.speed.verdict == "slower"
    assert step.finding.causes == ["fewer bank conflicts"]


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
    assert step.finding.causes == ["a launch fewer"]


def test_a_launch_saved_does_not_explain_ten_times_what_it_had_taken() -> None:
    step = step_of(Variant(times={256: 2.0e6}, steps=(1.9e6, 1e5)), Variant(times={256: 1.0e6}))
    assert step.finding.verdict == "uncounted"


def test_two_cases_are_compared_at_the_later_ones_fastest_shape() -> None:
    run = run_of({
        "v0_before": Variant(times={128: 1e6, 256: 1.5e6}),
        "v1_after": Variant(times={128: 9e5, 256: 8e5}),
    })  # fmt: skip
    (step,) = ladder_steps(Readings(run), list(run.planned.values()))
    assert step.same_shape
    assert step.before.launch == step.after.launch == {"block": 256}


def test_where_no_shape_is_shared_each_is_taken_at_its_fastest() -> None:
    run = run_of({
        "v0_before": Variant(times={128: 1e6, 512: 1.5e6}), "v1_after": Variant(times={256: 8e5}),
    })  # fmt: skip
    (step,) = ladder_steps(Readings(run), list(run.planned.values()))
    assert not step.same_shape
    assert step.before.launch == {"block": 128}


def test_a_trap_does_not_follow_from_the_ladders_last_variant() -> None:
    run = run_of({"v0_a": Variant(), "t1_b": Variant(), "t2_c": Variant()})
    steps = ladder_steps(Readings(run), list(run.planned.values()))
    assert [(s.before.variant, s.after.variant) for s in steps] == [("t1_b", "t2_c")]


def test_launch_shapes_are_explained_only_where_they_differ() -> None:
    run = run_of({
        "v0_flat": Variant(times={128: 1e6, 256: 1e6}),
        "v1_steep": Variant(times={128: 1e6, 256: 5e5}),
    })  # fmt: skip
    steps = shape_steps(Readings(run), list(run.planned.values()))
    assert [(s.after.variant, s.after.launch) for s in steps] == [("v1_steep", {"block": 256})]
    assert steps[0].identical


def test_machine_code_is_identical_only_where_every_hash_is() -> None:
    assert step_of(Variant(cubin="cd"), Variant(cubin="cd")).identical
    assert not step_of(Variant(cubin="cd"), Variant(cubin="ef")).identical


def test_the_main_launch_is_the_longest_one() -> None:
    variant = Variant(
        times={256: 1e6}, steps=(1e5, 9e5),
        counters=[{"sm__warps_active.avg": 0.1}, {"sm__warps_active.avg": 0.8}],
    )  # fmt: skip
    run = run_of({"v0": variant})
    answer = BY_KEY["achieved-occupancy"].find(Readings(run), case_of(run, "v0"))
    assert answer == Reading(0.8, "ncu")


def test_a_missing_counter_keeps_its_reason_and_is_never_zero() -> None:
    why = {"sm__warps_active.avg": "not permitted: ask the administrator"}
    run = run_of({"v0": Variant(missing=why)})
    answer = BY_KEY["achieved-occupancy"].find(Readings(run), case_of(run, "v0"))
    assert answer == Missing("not permitted: ask the administrator")
    assert answer.short == "not permitted"
    other = BY_KEY["dram-bytes"].find(Readings(run), case_of(run, "v0"))
    assert other == Missing("not collected")


def test_a_ratio_with_nothing_to_divide_by_does_not_apply() -> None:
    run = run_of({"v0": Variant(counters=[{WAVES: 0.0, IDEAL: 0.0}])})
    answer = BY_KEY["wavefronts-over-ideal"].find(Readings(run), case_of(run, "v0"))
    assert answer == Missing("not applicable")


def test_every_rule_speaks_of_quantities_that_exist() -> None:
    for rule in rules.RULES:
        assert {rule.quantity, *(key for key, _, _ in rule.needs)} <= set(BY_KEY)
        assert rule.threshold > 1


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.key)
def test_no_rule_holds_just_below_its_threshold(rule: rules.Rule) -> None:
    def pairs(better: float) -> dict[str, rules.Pair]:
        level = max(rule.matters, 1.0) * 2
        worse = rules.Pair(level * better, level) if rule.good == "lower" else rules.Pair(
            level, level * better
        )  # fmt: skip
        needs = {
            key: rules.Pair(1e6, 1.0) if good == "lower" else rules.Pair(1.0, 1e6)
            for key, good, _ in rule.needs
        }
        return {**needs, rule.quantity: worse}

    assert rule.holds(pairs(rule.threshold * 1.01), 1.01)
    assert not rule.holds(pairs(rule.threshold * 0.99), 1.01)


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
