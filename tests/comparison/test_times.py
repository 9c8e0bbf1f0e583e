"""Changes of times, and the verdicts that they allow."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from two_runs import DEVICE, Kernel, name_of, run

from harness.comparison import Judgement, judge
from harness.comparison.times import TimeChange
from harness.tables import Run

EQUAL = {"v0": Kernel(sass="1"), "v1": Kernel(9e4, sass="1"), "v2": Kernel(8e4, sass="1")}
CHANGED = {name: replace(kernel, sass="2") for name, kernel in EQUAL.items()}


def of(judgement: Judgement, variant: str) -> TimeChange:
    [change] = [c for c in judgement.changes if c.name == name_of(variant)]
    [time] = change.times
    return time


def ratio(time: TimeChange) -> float:
    assert time.ratio is not None
    return time.ratio.value


def test_a_kernel_that_takes_five_per_cent_longer_is_slower_and_the_others_are_not() -> None:
    slowed = CHANGED | {"v1": Kernel(1.05 * 9e4, sass="2")}
    judgement = judge(run(EQUAL, 1), run(slowed, 2))
    time = of(judgement, "v1")
    assert time.verdict == "slower"
    assert ratio(time) == pytest.approx(1.05, abs=0.01)
    assert time.ratio is not None
    assert time.ratio.low < 1.05 < time.ratio.high
    assert time.base_gbps == pytest.approx(4 * 1024 / time.base.value)
    assert {of(judgement, v).verdict for v in ("v0", "v2")} <= {"same", "unclear"}
    assert judgement.code == 1
    assert judgement.changes[0].name == name_of("v1"), "what matters most comes first"


def test_a_certain_change_within_what_is_called_the_same_is_none_unless_less_was_asked_for() -> (
    None
):
    """The case takes 0.6 % longer, in rounds that both sides share, so run-specific offsets
    cancel."""
    kernels = {f"v{i}": Kernel(1e5 - 1e3 * i, sass="1") for i in range(8)}
    both = kernels | {f"{name}__base": kernel for name, kernel in kernels.items()}
    slowed = both | {"v3": Kernel(1.006 * 9.7e4, sass="2")}
    once = run(slowed, 1, placements=64, beside={"suffix": "__base"})
    assert of(judge(once, once), "v3").verdict == "same"
    assert of(judge(once, once, min_effect=0.002), "v3").verdict == "slower"


def test_the_change_is_the_reciprocal_the_other_way_round() -> None:
    one, other = run(EQUAL, 1), run({k: replace(v, ns=7e4) for k, v in CHANGED.items()}, 2)
    there, back = (of(judge(*pair), "v1") for pair in ((one, other), (other, one)))
    assert ratio(there) == pytest.approx(1 / ratio(back))
    assert (there.verdict, back.verdict) == ("faster", "slower")


def test_identical_machine_code_is_never_slower_whatever_the_clock_says() -> None:
    slowed = EQUAL | {"v1": Kernel(1.2 * 9e4, sass="1")}
    judgement = judge(run(EQUAL, 1), run(slowed, 2))
    assert {c.kind for c in judgement.changes} == {"identical"}
    assert ratio(of(judgement, "v1")) == pytest.approx(1.2, abs=0.01)
    assert judgement.code == 0
    assert judgement.looked.family == 0


@pytest.mark.parametrize(
    "differs",
    [
        {"waves": 8.0},
        {"launched": "another argument"},
        {"data": "another initial value"},
        {"registers": 17},
        {"made_from": {"sum/problem.py": "other inputs"}},
        {"launched": "", "made_from": {"bench.yaml": "another"}},
    ],
    ids=[
        "another grid", "another launch", "other data", "other registers", "other inputs",
        "another entry in bench.yaml, by a journal of before",
    ],
)  # fmt: skip
@pytest.mark.fault(
    "the same machine code with another argument, constant, variable, launch or input",
    outcome="It is not called identical, and is compared like any other change.",
)
def test_the_same_code_with_other_data_or_launched_in_another_way_is_not_identical(
    differs: dict[str, object],
) -> None:
    kernel = Kernel(1.2 * 9e4, sass="1", **differs)  # type: ignore[arg-type]
    judgement = judge(run(EQUAL, 1), run(EQUAL | {"v1": kernel}, 2))
    assert of(judgement, "v1").verdict == "slower"


def test_what_identical_code_differs_by_is_the_floor_of_the_others() -> None:
    """Everything takes 3 % longer in the second run, so a changed kernel that also takes 3 % longer
    is not reported as slower.
    """
    longer = {name: replace(kernel, ns=1.03 * (kernel.ns or 0)) for name, kernel in EQUAL.items()}
    judgement = judge(run(EQUAL, 1), run(longer | {"v2": Kernel(1.03 * 8e4, sass="2")}, 2))
    assert judgement.code == 0
    [floor] = (judgement.looked.floors or {}).values()
    assert 0.025 < floor < 0.045
    slower = judge(run(EQUAL, 1), run(longer | {"v2": Kernel(1.15 * 8e4, sass="2")}, 2))
    assert of(slower, "v2").verdict == "slower"


def test_all_comparisons_are_one_family() -> None:
    """At 95 %, two of forty intervals miss the truth. Therefore all of a run's verdicts are one
    family: at most one comparison of runs in twenty has a wrong verdict."""
    many = {f"v{i}": Kernel(1e5 + i, sass="1") for i in range(40)}
    changed = {name: replace(kernel, sass="2") for name, kernel in many.items()}
    missed, false, pairs = 0, 0, 12
    for seed in range(pairs):
        judgement = judge(run(many, 2 * seed), run(changed, 2 * seed + 1))
        assert judgement.looked.family == 40
        intervals = [t.ratio for c in judgement.changes for t in c.times if t.ratio]
        missed += any(not i.low <= 1 <= i.high for i in intervals)
        false += judgement.code != 0
    assert missed > pairs / 2
    assert false <= 2


def test_one_placement_is_of_one_process_and_is_not_compared() -> None:
    slowed = CHANGED | {"v1": Kernel(2 * 9e4, sass="2")}
    judgement = judge(run(EQUAL, 1, placements=1), run(slowed, 2, placements=1))
    assert of(judgement, "v1").verdict == "not compared"
    assert "one placement" in of(judgement, "v1").reason
    assert judgement.code == 3


def test_times_at_another_clock_are_not_compared() -> None:
    judgement = judge(run(EQUAL, 1, clock=1_980_000_000), run(CHANGED, 2, clock=1_755_000_000))
    assert of(judgement, "v1").reason == "multiprocessor clock: 1,980 MHz then, 1,755 MHz now"
    assert judgement.code == 3
    steady = judge(run(EQUAL, 1, clock=1_980_000_000), run(CHANGED, 2, clock=1_975_000_000))
    assert steady.code == 0


def test_both_sides_in_one_run_are_compared_within_rounds() -> None:
    """The effect of placements, which both sides share, cancels: the interval is narrower than
    between two runs."""
    both = {"v0": Kernel(sass="2"), "v0__base": Kernel(sass="1"),
            "v1": Kernel(1.05 * 9e4, sass="2"), "v1__base": Kernel(9e4, sass="1")}  # fmt: skip
    judged = run(both, 5, beside={"base": "git:main", "commit": "", "suffix": "__base"})
    judgement = judge(judged, judged)
    assert judgement.in_rounds
    assert of(judgement, "v1").verdict == "slower"
    assert ratio(of(judgement, "v1")) == pytest.approx(1.05, abs=0.01)
    assert of(judgement, "v0").verdict in {"same", "unclear"}
    assert judgement.code == 1


ELSEWHERE = {"device": DEVICE | {"name": "NVIDIA H100"}}


def _elsewhere() -> tuple[Run, Run]:
    """All variants take 1.5 times as long on the other machine, and v1 another 1.05 times as
    long."""
    there = {name: replace(k, ns=1.5 * (k.ns or 0), sass="2") for name, k in EQUAL.items()}
    there["v1"] = Kernel(1.5 * 1.05 * 9e4, sass="2")
    return run(EQUAL, 1), run(there, 2, **ELSEWHERE)


def test_on_another_machine_nothing_is_slower_and_what_differs_is_said() -> None:
    judgement = judge(*_elsewhere())
    assert {c.kind for c in judgement.changes} == {"not compared"}
    assert judgement.code == 3
    assert judgement.untold[0] == "the machines differ: device NVIDIA H200 then, NVIDIA H100 now"


@pytest.mark.parametrize("what", [{"driver": "590.2"}, {"device": DEVICE | {"sm_count": 114}}])
def test_another_driver_or_part_of_a_card_is_another_machine(what: dict[str, object]) -> None:
    assert judge(run(EQUAL, 1), run(CHANGED, 2, **what)).code == 3


def test_a_property_that_only_one_run_recorded_makes_no_other_machine() -> None:
    newer = run(CHANGED, 2, device=DEVICE | {"bus": "0:1"}, card={"uuid": "GPU-1"})
    assert judge(run(EQUAL, 1), newer).code == 0
    moved = run(EQUAL, 1, device=DEVICE | {"bus": "0:2"}, card={"uuid": "GPU-1"})
    assert judge(moved, newer).code == 0


def test_another_card_of_the_same_kind_is_another_machine() -> None:
    judgement = judge(
        run(EQUAL, 1, card={"uuid": "GPU-1"}), run(CHANGED, 2, card={"uuid": "GPU-2"})
    )
    assert judgement.untold[0] == "the machines differ: UUID GPU-1 then, GPU-2 now"


def test_across_machines_ratios_to_each_runs_own_baseline_are_compared_where_asked() -> None:
    judgement = judge(*_elsewhere(), across_machines=True)
    assert judgement.relative
    assert of(judgement, "v1").verdict == "slower"
    assert ratio(of(judgement, "v1")) == pytest.approx(1.05, abs=0.01)
    assert of(judgement, "v2").verdict in {"same", "unclear"}
    assert of(judgement, "v0").verdict == "not compared"
    assert judgement.code == 1


def test_a_cache_emptied_in_another_way_is_another_measurement() -> None:
    base, new = run(EQUAL, 1), run(CHANGED, 2)
    other = Run(new.folder, {**new.info, "timing": {**new.info["timing"], "flush": "dirty"}},
                new.records)  # fmt: skip
    judgement = judge(base, other)
    assert judgement.code == 3
    assert "how the cache is emptied clean then, dirty now" in judgement.untold[0]


def test_a_change_that_is_certain_and_small_is_told_with_its_interval() -> None:
    many = {f"v{i}": Kernel(1e5 - 1e3 * i, sass="1") for i in range(12)}
    changed = {name: replace(kernel, sass="2") for name, kernel in many.items()}
    slowed = changed | {"v1": Kernel(1.012 * 99e3, sass="2")}
    judgement = judge(run(many, 1, placements=24), run(slowed, 2, placements=24))
    time = of(judgement, "v1")
    assert time.verdict == "slower"
    assert time.ratio is not None
    assert math.sqrt(time.ratio.high / time.ratio.low) - 1 < 0.004
