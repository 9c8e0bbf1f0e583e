"""Breakdown of a case's time: each unit's minimum time at its peak, and the stall reasons."""

from __future__ import annotations

import pytest
from small_runs import Variant, case_of, run_of

from harness.analysis.causes.time_spent import REASONS, UNITS, WORDS, Spent, spent
from harness.analysis.finders import STALL
from harness.analysis.readings import Readings
from harness.ncu.metrics import catalogue

PEAKS = {"dram-bytes": 1.0, "instructions": 2.0}


def stall(reason: str, value: float) -> dict[str, float]:
    return {f"{STALL.format(reason)}.ratio": value}


def counted(read: float = 4e5, instructions: float = 1e6) -> dict[str, float]:
    return {
        "dram__bytes_read.sum": read, "dram__bytes_write.sum": 0.0,
        "smsp__inst_executed.sum": instructions,
    }  # fmt: skip


def of(variant: Variant) -> Spent:
    run = run_of({"v0": variant})
    found = spent(Readings(run), case_of(run, "v0"), PEAKS)
    assert found is not None
    return found


def test_a_units_least_time_is_its_work_over_its_peak_and_the_largest_is_the_limit() -> None:
    found = of(Variant(times={256: 1e6}, counters=[counted()]))
    assert found.busy == {"dram-bytes": 4e5, "instructions": 5e5}
    assert found.limit == (UNITS["instructions"], pytest.approx(0.5, rel=0.01))


def test_what_was_not_counted_exactly_is_no_part_of_the_account() -> None:
    found = of(Variant(times={256: 1e6}, counters=[counted()], provenance="ptx-level"))
    assert not found.busy
    assert found.limit is None


def test_the_time_divides_as_the_warps_waiting_does() -> None:
    waits = stall("long_scoreboard", 6.0) | stall("barrier", 1.0) | stall("selected", 1.0)
    found = of(Variant(times={256: 1e6}, counters=[waits]))
    assert found.waits["memory"] == pytest.approx(0.75 * found.ns)
    assert found.waits["barrier"] == pytest.approx(0.125 * found.ns)
    assert sum(found.waits.values()) == pytest.approx(found.ns)
    assert found.longest_wait == (WORDS["memory"], pytest.approx(0.75))


def test_several_launches_count_by_how_long_each_lasted() -> None:
    counters = [
        stall("long_scoreboard", 1.0) | {"gpu__time_duration.sum": 3e5},
        stall("barrier", 9.0) | {"gpu__time_duration.sum": 1e5},
    ]
    found = of(Variant(times={256: 4e5}, steps=(3e5, 1e5), counters=counters))
    assert found.waits["memory"] == pytest.approx(0.75 * found.ns)


def test_where_a_long_launch_was_not_sampled_nothing_is_said_of_waits() -> None:
    counters = [
        stall("long_scoreboard", 1.0) | {"gpu__time_duration.sum": 1e5},
        {"gpu__time_duration.sum": 3e5},
    ]
    assert not of(Variant(times={256: 4e5}, steps=(1e5, 3e5), counters=counters)).waits


def test_memory_holds_a_case_near_its_peak_unless_it_is_busier_in_the_other() -> None:
    slow = Spent(100.0, {"dram-bytes": 85.0})
    assert slow.held_by_memory(Spent(90.0, {"dram-bytes": 77.0}))
    assert not slow.held_by_memory(Spent(88.0, {"dram-bytes": 85.0}))
    assert not Spent(100.0, {"dram-bytes": 60.0}).held_by_memory(Spent(95.0, {"dram-bytes": 57.0}))
    assert not Spent(100.0, {"instructions": 95.0}).held_by_memory(slow)


def test_every_stall_that_is_collected_belongs_to_one_class() -> None:
    classed = [STALL.format(reason) for each in REASONS.values() for reason in each]
    prefix, suffix = STALL.split("{}")
    collected = {
        key for key in catalogue().metrics if key.startswith(prefix) and key.endswith(suffix)
    }
    assert len(classed) == len(set(classed))
    assert set(classed) == collected
    assert set(WORDS) == set(REASONS)
