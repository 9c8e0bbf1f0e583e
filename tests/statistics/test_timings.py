"""Rounds of runs with invented times, so that every selection and every verdict is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from harness.journal.records import Outcome, Planned, Round
from harness.statistics.builds_on import parent
from harness.statistics.timings import Timings

GROUP = ("sum", "float32", "n=1024")
Cost = Callable[[int, int], float]
"""Placement, round → ns."""


def timings(
    costs: dict[str, Cost | float],
    placements: int = 8,
    rounds: int = 3,
    failed: Sequence[str] = (),
    builds_on: dict[str, str] | None = None,
    extra: Callable[[Round], Round] = lambda r: r,
    **timing: Any,
) -> Timings:
    """`costs`: `variant/block` → ns; the first variant is the baseline, whose second batch
    differs."""
    rng = np.random.default_rng(3)
    planned, records = {}, []
    baseline = next(iter(costs)).split("/", maxsplit=1)[0]
    for name, cost in costs.items():
        variant, _, block = name.partition("/")
        launch = {"block": int(block)} if block else {}
        p = Planned(f"sum/{name}", "sum", variant, "float32", {"n": 1024}, launch, 4096, 1023,
                    variant == baseline, variant == "torch",
                    builds_on=(builds_on or {}).get(variant, ""))  # fmt: skip
        planned[p.case] = p
        for repeat in (False, True) if variant == baseline else (False,):
            for i in range(placements):
                for k in range(rounds):
                    ns = cost(i, k) if callable(cost) else cost
                    ns *= 1 + 1e-4 * rng.standard_normal()
                    records.append(extra(Round(p.case, "cold", k, repeat, (ns,) * 4, placement=i)))
    outcomes = {case: Outcome(case, "failed" if case.split("/")[1] in failed else "ok")
                for case in planned}  # fmt: skip
    settings = {"confidence": 0.95, "same_within": 0.01, **timing}
    return Timings(records, planned, outcomes, settings)


def test_every_shape_is_compared_with_the_baseline_at_the_shape_it_is_shown_at() -> None:
    found = timings({"v0/64": 800.0, "v0/128": 400.0, "v1/64": 300.0, "v1/128": 200.0})
    for case, ratio in (("v0/64", 0.5), ("v1/64", 4 / 3), ("v1/128", 2.0)):
        assert found.baseline_of(f"sum/{case}") == "sum/v0/128"
        versus = found.compare(f"sum/{case}", "sum/v0/128")
        assert versus.verdict == ("faster" if ratio > 1 else "slower")
        assert versus.ratio is not None
        assert versus.ratio.value == pytest.approx(ratio, rel=1e-3)


def test_a_library_is_compared_with_the_baseline_at_its_fastest() -> None:
    found = timings({"v0/64": 800.0, "v0/128": 400.0, "torch": 100.0})
    assert found.baseline_of("sum/torch") == "sum/v0/128"


def test_where_the_baseline_failed_the_first_sound_variant_stands_in_and_is_named() -> None:
    found = timings({"v0/64": 800.0, "v1/64": 400.0, "v2/64": 200.0}, failed=["v0"])
    assert found.substitute(GROUP) == "v1"
    assert found.baseline_of("sum/v2/64") == "sum/v1/64"
    assert found.compare("sum/v2/64", "sum/v1/64").verdict == "faster"


def test_a_sound_baseline_has_no_substitute() -> None:
    assert timings({"v0/64": 800.0, "v1/64": 400.0}).substitute(GROUP) is None


def test_the_shape_is_chosen_by_the_first_placements_and_reported_from_the_others() -> None:
    # In the first two placements 64 looks best; in truth, and in all other placements, 128 is best.
    found = timings(
        {
            "v0/64": lambda placement, _: 90.0 if placement < 2 else 200.0,
            "v0/128": 100.0,
        },
        choosing=2,
    )
    shown = found.shape(GROUP, "v0")
    assert shown is not None
    assert shown.launch == {"block": 64}
    time = found.time(shown.case, "cold")
    assert time is not None
    assert time.value == pytest.approx(200, rel=1e-3)


def test_the_fastest_of_many_equal_shapes_is_not_reported_too_fast() -> None:
    """The winner's curse: 12 equal shapes, 6 % noise per placement."""
    rng = np.random.default_rng(0)
    curse, cured = [], []
    for _ in range(60):
        noise = np.exp(0.06 * rng.standard_normal((12, 8)))
        shapes = {f"v0/{32 * (i + 1)}": (lambda p, _, row=row: 1000.0 * row[p])
                  for i, row in enumerate(noise)}  # fmt: skip
        for into, choosing in ((curse, 0), (cured, 2)):
            found = timings(shapes, rounds=1, choosing=choosing)
            shown = found.shape(GROUP, "v0")
            assert shown is not None
            time = found.time(shown.case, "cold")
            assert time is not None
            into.append(time.value / 1000)
    assert np.mean(curse) < 0.975
    assert np.mean(cured) == pytest.approx(1.0, abs=0.012)


def test_a_variant_is_compared_with_what_it_builds_on() -> None:
    found = timings(
        {"v0/64": 800.0, "v1/64": 400.0, "t1/64": 500.0, "v2/64": 200.0},
        builds_on={"v1": "v0", "v2": "v1"},
    )
    pairs = found.family(GROUP)
    assert ("sum/v2/64", "sum/v1/64") in pairs
    assert not any(case == "sum/t1/64" and against == "sum/v1/64" for case, against in pairs)


def test_what_a_variant_builds_on_is_taken_at_the_shape_it_is_shown_at() -> None:
    found = timings(
        {"v0/64": 800.0, "v0/128": 400.0, "v1/64": 200.0, "v1/128": 300.0},
        builds_on={"v1": "v0"},
    )
    [first, later] = found.shown(GROUP)
    before = parent(later, found.shape)
    assert parent(first, found.shape) is None
    assert later.case == "sum/v1/64"
    assert before is not None
    assert before.case == "sum/v0/128"


def test_equal_kernels_are_called_the_same() -> None:
    found = timings({"v0/64": 800.0, "v1/64": 800.0})
    assert found.compare("sum/v1/64", "sum/v0/64").verdict == "same"


def test_a_difference_that_only_one_of_many_shows_is_no_finding() -> None:
    """Some of 40 equal kernels differ at 95 %; the procedure for the whole family allows for
    that."""
    rng = np.random.default_rng(5)
    noise = {f"v{i}/64": 0.003 * rng.standard_normal(8) for i in range(41)}
    costs = {name: (lambda p, _, e=e: 1000.0 * float(np.exp(e[p]))) for name, e in noise.items()}
    found = timings(costs)
    alone = 0
    for name in list(costs)[1:]:
        versus = found.compare(f"sum/{name}", "sum/v0/64")
        assert versus.verdict in {"same", "unclear"}
        assert versus.ratio is not None
        alone += not versus.ratio.low <= 1 <= versus.ratio.high
    assert alone > 0


def test_equal_kernels_that_a_a_tells_apart_raise_the_floor() -> None:
    def second(r: Round) -> Round:
        return r if not r.repeat else Round(**{**vars(r), "samples_ns": (816.0,) * 4})

    found = timings({"v0/64": 800.0, "v1/64": 800.0}, extra=second)
    assert found.floor(GROUP, "cold") == pytest.approx(0.02, rel=0.1)
    assert found.compare("sum/v1/64", "sum/v0/64").verdict != "faster"
    assert timings({"v0/64": 800.0}).floor(GROUP, "cold") == 0


def test_a_a_says_by_how_much_two_runs_of_one_kernel_may_differ() -> None:
    assert 0 < timings({"v0/64": 800.0}).noise(GROUP, "cold") < 0.001


@pytest.mark.fault(
    "a round with hardware slowdown or thermal throttling",
    outcome="It is left out whole, for every case, and counted on the page.",
)
def test_throttled_rounds_are_left_out_whole_and_counted() -> None:
    def throttled(r: Round) -> Round:
        if r.round != 1 or r.case != "sum/v1/64":
            return r
        return Round(**{**vars(r), "samples_ns": (2000.0,) * 4, "throttle": ("HwSlowdown",)})

    found = timings({"v0/64": 800.0, "v1/64": 800.0}, extra=throttled)
    assert found.compare("sum/v1/64", "sum/v0/64").verdict == "same"
    assert dict(found.left_out[GROUP]) == {"throttled: HwSlowdown": 8}
    assert {r for _, r in found.times("sum/v0/64", "cold")} == {0, 2}


@pytest.mark.fault(
    "a clock that changes during a run",
    outcome="Rounds at another clock than the usual one are left out whole, and counted.",
)
def test_rounds_at_another_clock_are_left_out() -> None:
    def slow(r: Round) -> Round:
        clock = 1_200_000_000 if r.placement == 3 else 1_980_000_000
        return Round(**{**vars(r), "sm_clock_hz": clock})

    found = timings({"v0/64": 800.0}, extra=slow)
    assert dict(found.left_out[GROUP]) == {"another multiprocessor clock": 3}


def test_rounds_that_are_throttled_are_left_out_however_many_they_are() -> None:
    found = timings(
        {"v0/64": 800.0},
        extra=lambda r: Round(**{**vars(r), "throttle": ("HwSlowdown",)}),
    )
    assert dict(found.left_out[GROUP]) == {"throttled: HwSlowdown": 24}
    assert found.time("sum/v0/64", "cold") is None
    assert all(found.is_spoiled(placement) for placement in range(8))


def test_where_clocks_differ_in_most_rounds_that_is_how_the_card_runs() -> None:
    def wandering(r: Round) -> Round:
        clock = 1_200_000_000 + 100_000_000 * ((3 * r.placement + r.round) % 8)
        return Round(**{**vars(r), "sm_clock_hz": clock})

    found = timings({"v0/64": 800.0}, extra=wandering)
    assert not found.left_out[GROUP]
    assert found.time("sum/v0/64", "cold") is not None


def test_a_time_that_depends_on_where_memory_lies_is_said_to() -> None:
    found = timings({"v0/64": lambda placement, _: 1000.0 + 40 * (placement % 2), "v1/64": 1000.0})
    apart, even = (found.spread(f"sum/{v}/64", "cold") for v in ("v0", "v1"))
    assert apart is not None
    assert apart.depends_on_placement
    assert apart.between == pytest.approx(0.021, rel=0.1)
    assert even is not None
    assert not even.depends_on_placement


def test_several_looks_share_the_error() -> None:
    assert timings({"v0/64": 1.0}, looks=3).confidence == pytest.approx(1 - 0.05 / 3)


def test_a_case_is_settled_when_it_is_precise_and_its_meaning_certain() -> None:
    rng = np.random.default_rng(1)
    loose = (0.02 * rng.standard_normal(8)).tolist()
    found = timings({
        "v0/64": 1000.0, "v1/64": 500.0, "v2/64": 1000.0,
        "v3/64": lambda p, _: 1000.0 * float(np.exp(loose[p])),
    })  # fmt: skip
    settled = {v: found.is_settled(f"sum/{v}/64", "cold", 0.005) for v in ("v0", "v1", "v2", "v3")}
    assert settled == {"v0": True, "v1": True, "v2": True, "v3": False}


def test_a_difference_that_is_certain_and_too_small_to_count_is_settled() -> None:
    found = timings({"v0/64": 1000.0, "v1/64": 1002.0})
    versus = found.compare("sum/v1/64", "sum/v0/64")
    assert versus.verdict == "same"
    assert versus.ratio is not None
    assert versus.ratio.high < 1
    assert found.is_settled("sum/v1/64", "cold", 0.005)
