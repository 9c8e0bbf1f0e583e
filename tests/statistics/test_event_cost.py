"""The cost of two events is subtracted from a time, and the uncertainty of the cost widens the
interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.journal.records import Ceiling, EventCost, Outcome, Planned, Record, Round
from harness.statistics.event_cost import (
    EMPTY_IN_DOUBT_NS,
    EMPTY_NS,
    IN_AND_OUT_NS,
    IN_DOUBT_NS,
    EventCosts,
)
from harness.statistics.intervals import difference, speedup, time_of
from harness.statistics.net_ceilings import ceiling_over_placements
from harness.statistics.timings import Timings

GROUP = "sum/float32/n=1024"
COST = {"cold": 2300.0, "warm": 2400.0}
TRULY = {"v0": 12_000.0, "v1": 4_000.0}


def run(host_ns: float, *, measured: bool = True, truly: dict[str, float] = TRULY) -> Timings:
    """Kernels of known length, timed on a host whose events cost the given number of ns."""
    rng = np.random.default_rng(1)
    records: list[Record] = []
    planned = {}
    for variant, ns in truly.items():
        p = Planned(f"sum/{variant}", "sum", variant, "float32", {"n": 1024}, {}, 4096, 1023,
                    variant == "v0", False)  # fmt: skip
        planned[p.case] = p
        for cache, cost in COST.items():
            for placement in range(6):
                own = cost + host_ns + 40 * placement
                samples = tuple(ns + own + rng.normal(0, 8, 6))
                records += [
                    Round(p.case, cache, k, repeat, samples, placement=placement)  # type: ignore[arg-type]
                    for k in range(3)
                    for repeat in ((False, True) if variant == "v0" else (False,))
                ]
    if measured:
        records += [
            EventCost(GROUP, cache, i, (COST[cache] + host_ns + 40 * i + IN_AND_OUT_NS,) * 8)  # type: ignore[arg-type,index]
            for cache in COST
            for i in range(6)
        ]
    else:
        empty = 2300.0 + host_ns + 100 + EMPTY_NS
        records.append(Ceiling("empty_kernel", empty, empty, empty, "ns", "", ()))
    outcomes = {case: Outcome(case, "ok") for case in planned}
    return Timings(records, planned, outcomes, {"confidence": 0.95, "same_within": 0.01})


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_a_time_is_the_kernels_own_whatever_the_events_cost_on_its_host(cache: str) -> None:
    for host_ns in (0.0, 1700.0):
        found = run(host_ns)
        for variant, ns in TRULY.items():
            time = found.time(f"sum/{variant}", cache)
            raw = found.interval_between_events(f"sum/{variant}", cache)
            assert time is not None
            assert raw is not None
            assert time.value == pytest.approx(ns, rel=2e-3)
            assert raw.value == pytest.approx(ns + COST[cache] + host_ns + 100, rel=1e-2)


def test_speedups_of_small_kernels_agree_between_two_hosts() -> None:
    for host_ns in (0.0, 1700.0):
        ratio = run(host_ns).compare("sum/v1", "sum/v0").ratio
        assert ratio is not None
        assert ratio.value == pytest.approx(3.0, rel=5e-3)


def test_an_interval_is_as_wide_as_the_cost_is_in_doubt() -> None:
    time = run(0.0).time("sum/v1", "cold")
    assert time is not None
    assert math.log(time.high / time.low) / 2 >= IN_DOUBT_NS / TRULY["v1"]


def test_equal_kernels_stay_comparable_as_the_doubt_moves_both_alike() -> None:
    ones = {(i, 0): 5000.0 + i for i in range(6)}
    found = speedup(ones, ones, in_doubt_ns=IN_DOUBT_NS)
    assert found is not None
    assert found.unresolved == 0
    shorter = speedup(ones, {at: ns / 2 for at, ns in ones.items()}, in_doubt_ns=IN_DOUBT_NS)
    assert shorter is not None
    assert shorter.unresolved == pytest.approx(IN_DOUBT_NS / 5000, rel=1e-2)
    again = time_of(ones, in_doubt_ns=IN_DOUBT_NS)
    assert again is not None
    assert difference(again, again).unresolved == 0


def test_a_run_that_did_not_measure_the_cost_takes_it_from_its_empty_kernel() -> None:
    found = run(1700.0, measured=False)
    assert not found.event_costs.are_measured
    assert found.event_costs.usual().in_doubt_ns == EMPTY_IN_DOUBT_NS
    time = found.time("sum/v1", "cold")
    assert time is not None
    assert time.low < TRULY["v1"] < time.high


def test_without_either_the_events_are_taken_to_cost_nothing() -> None:
    assert EventCosts([]).at(GROUP, 0, "cold") == 0


def test_a_case_of_which_nothing_is_left_has_no_time() -> None:
    found = run(0.0, truly={"v0": -10.0})
    assert found.time("sum/v0", "cold") is None
    assert found.interval_between_events("sum/v0", "cold") is not None


def test_a_ceiling_is_of_the_time_that_is_left() -> None:
    ceiling = Ceiling("read_bandwidth", 4e12, 3.9e12, 4.1e12, "byte/s", "", (4e12,), "c", 4e8)
    assert ceiling_over_placements(ceiling, [], 0.95, 2300.0).value == pytest.approx(
        4e8 / (100e-6 - 2.3e-6)
    )
    rounds = [Round("c", "cold", 0, False, (102_300.0 + i,), placement=i) for i in range(5)]
    again = ceiling_over_placements(ceiling, rounds, 0.95, 2300.0)
    assert again.value == pytest.approx(4e12, rel=1e-3)
