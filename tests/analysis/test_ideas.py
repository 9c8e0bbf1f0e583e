"""A step's causes are compared with the idea that its variant states, even if a run has no
times."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis.causes import rules
from harness.analysis.causes.why import Explainer, LadderStep
from harness.analysis.finders import STALL
from harness.analysis.readings import Readings
from harness.cases import IDEAS
from harness.report.pages import why as page

WAVES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
CONFLICTS = {WAVES: 3300.0, IDEAL: 1000.0, "smsp__inst_executed.sum": 1e6}
NONE = {WAVES: 1000.0, IDEAL: 1000.0, "smsp__inst_executed.sum": 1e6}


def step_of(
    before: Mapping[str, float],
    after: Mapping[str, float],
    idea: str = "",
    trap: bool = False,
    times: tuple[float | None, float | None] = (2e6, 1e6),
    provenance: str = "ncu",
) -> LadderStep:
    run = run_of({
        "v0_old": Variant({256: times[0]}, [before], provenance=provenance),
        "v1_new": Variant({256: times[1]}, [after], builds_on="v0_old", idea=idea, is_trap=trap,
                          provenance=provenance),
    })  # fmt: skip
    return Explainer(Readings(run)).compare(case_of(run, "v0_old"), case_of(run, "v1_new"))


def causes(step: LadderStep) -> list[str]:
    return [cause.text for cause in step.finding.causes]


SLOWER = (1e6, 2e6)


@pytest.mark.parametrize(
    ("before", "after", "idea", "trap", "times", "agrees"),
    [
        (CONFLICTS, NONE, "bank-conflicts", False, (2e6, 1e6), "yes"),
        (NONE, CONFLICTS, "bank-conflicts", True, SLOWER, "yes"),
        (CONFLICTS, NONE, "fewer-instructions", False, (2e6, 1e6), "no"),
        (NONE, CONFLICTS, "bank-conflicts", False, SLOWER, "against"),
        (CONFLICTS, NONE, "bank-conflicts", True, (2e6, 1e6), "against"),
        (NONE, CONFLICTS | {"smsp__inst_executed.sum": 5e5}, "fewer-instructions", False, SLOWER,
         "outweighed"),
        (NONE, CONFLICTS, "fewer-instructions", False, SLOWER, "no gain"),
        (CONFLICTS, NONE, "atomics", False, (2e6, 1e6), ""),
        (CONFLICTS, NONE, "none", False, (2e6, 1e6), ""),
        (NONE, NONE, "bank-conflicts", False, (2e6, 1e6), ""),
    ],
)  # fmt: skip
def test_the_causes_are_held_against_the_idea(
    before: Mapping[str, float], after: Mapping[str, float], idea: str, trap: bool,
    times: tuple[float, float], agrees: str,
) -> None:  # fmt: skip
    assert step_of(before, after, idea, trap, times).agrees == agrees


def test_an_idea_is_that_of_the_step_from_what_it_builds_on_and_of_no_other() -> None:
    step = step_of(CONFLICTS, NONE, "bank-conflicts")
    assert step.idea == "bank-conflicts"
    run = run_of({"v0": Variant(), "v1": Variant(builds_on="v9", idea="traffic")})
    other = Explainer(Readings(run)).compare(case_of(run, "v0"), case_of(run, "v1"))
    assert (other.idea, other.agrees) == ("", "")


def test_every_idea_that_a_rule_bears_out_is_one_that_can_be_stated() -> None:
    assert {idea for rule in rules.RULES for idea in rule.ideas} <= set(IDEAS) - {"none"}


def test_without_times_it_says_what_was_relieved_and_what_for_and_nothing_of_speed() -> None:
    step = step_of(CONFLICTS, NONE | {"smsp__inst_executed.sum": 2e6}, "bank-conflicts",
                   times=(None, None), provenance="machine-exact")  # fmt: skip
    assert causes(step) == ["fewer bank conflicts"]
    assert [each.text for each in step.finding.other_way] == ["fewer instructions"]
    block = page.block(Readings(run_of({"v0_old": Variant()})).run, step,
                       {"v0_old": "v0", "v1_new": "v1"}, with_diff=False)  # fmt: skip
    assert block.cause == (
        "v1 has fewer bank conflicts; v0 has fewer instructions. That is the idea of v1: "
        "bank-conflicts."
    )
    assert "fast" not in block.cause
    assert "slow" not in block.cause
    assert page.relieved(step) == (
        "shared-memory wavefronts over the ideal fell from 3.30× to 1.00×"
    )


def test_without_times_what_no_counter_shows_is_not_denied() -> None:
    step = step_of(CONFLICTS, NONE, "latency-hidden", times=(None, None))
    assert step.agrees == ""
    assert page.idea(step, "v1") == (
        "The idea of v1 is latency-hidden, which nothing that was counted shows."
    )


def test_what_is_not_counted_exactly_relieves_nothing_either() -> None:
    step = step_of(CONFLICTS, NONE, times=(None, None), provenance="ptx-level")
    assert not step.finding.causes
    assert page.relieved(step) == ""


_REQUESTS, _SECTORS = (
    f"l1tex__t_{what}_pipe_lsu_mem_global_op_{{}}.sum" for what in ("requests", "sectors")
)


def waits(memory: float, other: float, issued: float = 1e6) -> dict[str, float]:
    return {
        f"{STALL.format('long_scoreboard')}.ratio": memory,
        f"{STALL.format('selected')}.ratio": other,
        "smsp__inst_issued.sum": issued,
    }


def test_stores_that_became_coalesced_are_found_beside_loads_that_always_were() -> None:
    def accesses(per_store: float, waited: float) -> dict[str, float]:
        counters = {
            _REQUESTS.format("ld"): 9e5, _SECTORS.format("ld"): 36e5,
            _REQUESTS.format("st"): 1e5, _SECTORS.format("st"): 1e5 * per_store,
        }  # fmt: skip
        return counters | waits(waited, 1.0)

    step = step_of(accesses(32, 9.0), accesses(4, 1.0), times=(4e6, 1e6))
    assert "better coalesced accesses" in causes(step)


def test_more_under_way_is_named_where_waits_for_memory_gave_the_time_back() -> None:
    def stream(waited: float) -> dict[str, float]:
        return waits(waited, 1.0) | {"l1tex__t_bytes.sum": 32e6}

    faster = step_of(stream(9.0), stream(4.0), "latency-hidden")
    assert causes(faster) == ["more under way while a warp waits for memory"]
    assert faster.agrees == "yes"
    unsampled = {"l1tex__t_bytes.sum": 32e6}
    assert causes(step_of(unsampled, unsampled)) == []


def test_a_cause_can_have_saved_no_more_waiting_than_its_own_change_in_proportion() -> None:
    pairs = {"instructions": rules.Pair(1.1, 1.0)}
    saving = rules.Saving(2.0, 50.0, {}, {"ready": rules.Pair(60.0, 20.0)})
    [rule] = [rule for rule in rules.RULES if rule.key == "instructions"]
    assert rule.waited(pairs, saving) == pytest.approx(60 * (1 - 1 / 1.1) / 50)
    assert not rule.holds(pairs, saving)
    assert rule.holds({"instructions": rules.Pair(2.0, 1.0)}, saving)


def test_a_second_launch_that_takes_less_time_explains_what_that_saved() -> None:
    run = run_of({
        "v0": Variant({256: 1.1e6}, steps=(1e6, 1e5)),
        "v1": Variant({256: 1.02e6}, steps=(1e6, 2e4), builds_on="v0"),
    })  # fmt: skip
    step = Explainer(Readings(run)).compare(case_of(run, "v0"), case_of(run, "v1"))
    assert causes(step) == ["less time in the launches beside the longest"]


def test_the_page_says_what_each_side_is_nearest_to_the_roof_of() -> None:
    def stream(read: float, waited: float) -> dict[str, float]:
        return waits(waited, 1.0) | {"dram__bytes_read.sum": read, "dram__bytes_write.sum": 0.0}

    run = run_of({
        "v0": Variant({256: 2e6}, [stream(5e8, 4.0)]),
        "v1": Variant({256: 1e6}, [stream(5e8, 1.0)], builds_on="v0"),
    }, ceilings={"read_bandwidth": 1e12})  # fmt: skip
    step = Explainer(Readings(run)).compare(case_of(run, "v0"), case_of(run, "v1"))
    assert page.limits(step, "v0", "v1").replace("\u202f", " ") == (
        "v0 keeps the device's memory busy for 25.0 % of its time, and its warps wait most for "
        "data from global memory (80.0 %); v1 keeps the device's memory busy for 50.0 % of its "
        "time, and its warps wait most for data from global memory (50.0 %)."
    )
