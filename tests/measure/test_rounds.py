"""Rounds on a workspace whose clock is arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.backends.base import Execution
from harness.build.compile import Built
from harness.cases import Case, Step
from harness.measure.rounds import BATCH_NS, Entry, measure
from harness.measure.statistics import speedup
from harness.records import Cache, Conditions, Record, Round

Call = tuple[str, str, int, bool]
"""Variant, cache, launches, apart."""


class FakeWorkspace:
    """Every launch takes its variant's time, longer as calls go by; warm ones half of it."""

    def __init__(self, cost: Mapping[str, float], drift: float = 0.0) -> None:
        self.cost, self.drift = cost, drift
        self.calls: list[Call] = []

    def time(
        self, case: Case, built: Built | None, cache: Cache, launches: int, apart: bool = False
    ) -> list[list[float]]:
        self.calls.append((case.variant, cache, launches, apart))
        total = self.cost[case.variant] * (0.5 if cache == "warm" else 1.0)
        total *= 1 + self.drift * len(self.calls)
        if apart:
            return [[total * 0.75, total * 0.25] for _ in range(launches)]
        return [[total] for _ in range(launches)]

    def refill(self, inputs: Mapping[str, Any]) -> None:
        raise AssertionError("rounds do not change inputs")

    def run(self, case: Case, built: Built | None) -> Execution:
        raise AssertionError("rounds only time")

    def __enter__(self) -> FakeWorkspace:
        return self

    def __exit__(self, *error: object) -> None: ...


@pytest.fixture
def entries(double: Callable[..., Case]) -> list[Entry]:
    """v0 (the baseline, twice), v1, v2."""
    found = [Entry(double(name), None) for name in ("v0", "v1", "v2")]
    return [*found, replace(found[0], repeat=True)]


COST = {"v0": 4000.0, "v1": 2000.0, "v2": 8000.0}


def run(
    workspace: FakeWorkspace, entries: list[Entry], rounds: int = 8, seed: int = 1, **more: Any
) -> list[Record]:
    return list(measure(workspace, entries, rounds, 10, np.random.default_rng(seed), **more))


def of_cache(records: list[Record], cache: str = "cold") -> list[Round]:
    return [r for r in records if isinstance(r, Round) and r.cache == cache]


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_every_case_is_timed_once_a_round_and_the_baseline_twice(
    entries: list[Entry], cache: str
) -> None:
    found = of_cache(run(FakeWorkspace(COST), entries), cache)
    wanted = Counter((e.case.id, e.repeat) for e in entries)
    assert sum(wanted.values()) == 4
    for number in range(8):
        assert Counter((r.case, r.repeat) for r in found if r.round == number) == wanted


def test_rounds_follow_one_another_from_the_first_number(entries: list[Entry]) -> None:
    found = of_cache(run(FakeWorkspace(COST), entries, first_round=20))
    assert [r.round for r in found] == [number for number in range(20, 28) for _ in range(4)]


def orders(records: list[Record]) -> list[list[tuple[str, bool]]]:
    found = of_cache(records)
    return [[(r.case, r.repeat) for r in found if r.round == n] for n in range(8)]


def test_the_order_differs_among_rounds_and_is_that_of_the_seed(entries: list[Entry]) -> None:
    first = orders(run(FakeWorkspace(COST), entries))
    assert len({tuple(order) for order in first}) > 1
    assert first == orders(run(FakeWorkspace(COST), entries))
    assert first != orders(run(FakeWorkspace(COST), entries, seed=2))


def test_every_place_in_a_round_is_taken_about_equally_often(entries: list[Entry]) -> None:
    found = of_cache(run(FakeWorkspace(COST), entries, rounds=400))
    firsts = Counter((r.case, r.repeat) for r in found[::4])
    # 100 each, with a standard deviation of √(400 · 1/4 · 3/4) = 8.7.
    assert len(firsts) == 4
    assert all(60 < count < 140 for count in firsts.values())


def test_samples_are_the_workspaces_times_to_a_tenth_of_a_nanosecond(entries: list[Entry]) -> None:
    records = run(FakeWorkspace({"v0": 1000 / 3, "v1": 2000.0, "v2": 8000.0}), entries)
    for record in of_cache(records):
        cost = {"v0": 333.3, "v1": 2000.0, "v2": 8000.0}[record.case.split("/")[1]]
        assert record.samples_ns == (cost,) * 10
        assert record.steps_ns == ()
    assert {r.samples_ns[0] for r in of_cache(records, "warm")} == {166.7, 1000.0, 4000.0}


def test_the_first_round_is_not_recorded(entries: list[Entry]) -> None:
    workspace = FakeWorkspace(COST)
    records = run(workspace, entries, rounds=2)
    assert len(records) == 2 * 4 * 2
    assert workspace.calls[:4] == [(v, "cold", 2, False) for v in ("v0", "v1", "v2", "v0")]
    assert len(workspace.calls) == 4 + len(records)


def test_drift_cancels_in_the_paired_ratio(entries: list[Entry]) -> None:
    found = of_cache(run(FakeWorkspace(COST, drift=0.01), entries, rounds=20))

    def times(variant: str, repeat: bool = False) -> dict[tuple[int, int], float]:
        return {(0, r.round): float(np.median(r.samples_ns)) for r in found
                if r.case.split("/")[1] == variant and r.repeat == repeat}  # fmt: skip

    v0 = list(times("v0").values())
    assert max(v0) / min(v0) > 2  # everything became slower all the while
    found_ratio, found_floor = (
        speedup(times("v0"), times("v1")),
        speedup(times("v0"), times("v0", True)),
    )
    assert found_ratio is not None
    assert found_floor is not None
    ratio, floor = found_ratio.interval(0.95), found_floor.interval(0.95)
    assert ratio.low <= 2.0 <= ratio.high
    assert ratio.high / ratio.low < 1.1
    assert floor.low <= 1.0 <= floor.high


@pytest.mark.parametrize(
    ("cost", "launches"),
    # A batch is cut to 50 ms.
    [(1e3, 10), (5e6, 10), (5.1e6, 9), (20e6, 2), (30e6, 1), (1e12, 1), (0.0, 10)],
)
def test_a_slow_kernels_batch_is_cut(
    double: Callable[..., Case], cost: float, launches: int
) -> None:
    workspace = FakeWorkspace({"v0": cost})
    found = of_cache(run(workspace, [Entry(double(), None)], rounds=1))
    assert [len(r.samples_ns) for r in found] == [launches]
    assert launches == 1 or launches * cost <= BATCH_NS


def test_a_slow_case_does_not_cut_the_others_batches(entries: list[Entry]) -> None:
    found = of_cache(run(FakeWorkspace({**COST, "v2": 1e9}), entries))
    lengths = {r.case.split("/")[1]: len(r.samples_ns) for r in found}
    assert lengths == {"v0": 10, "v1": 10, "v2": 1}


def two_steps(case: Case) -> Case:
    return replace(case, steps=(*case.steps, Step("second", (1, 1, 1), (32, 1, 1), 0, ())))


def test_the_steps_of_a_case_with_two_are_timed_apart_from_its_total(
    double: Callable[..., Case],
) -> None:
    workspace = FakeWorkspace(COST)
    records = run(workspace, [Entry(two_steps(double()), None)], rounds=1)
    [cold] = of_cache(records)
    assert cold.samples_ns == (4000.0,) * 10
    assert cold.steps_ns == ((3000.0,) * 5, (1000.0,) * 5)
    assert workspace.calls[1:] == [
        ("v0", "cold", 10, False), ("v0", "cold", 5, True),
        ("v0", "warm", 10, False), ("v0", "warm", 5, True),
    ]  # fmt: skip


def test_a_slow_case_with_two_steps_is_still_timed_apart(double: Callable[..., Case]) -> None:
    records = run(FakeWorkspace({"v0": 1e9}), [Entry(two_steps(double()), None)], rounds=1)
    [cold] = of_cache(records)
    assert cold.steps_ns == ((0.75e9,), (0.25e9,))


def test_the_second_batch_of_a_baseline_times_no_steps(double: Callable[..., Case]) -> None:
    records = run(FakeWorkspace(COST), [Entry(two_steps(double()), None, repeat=True)], rounds=1)
    assert [r.steps_ns for r in of_cache(records)] == [()]


def test_the_conditions_of_each_round_follow_it(entries: list[Entry]) -> None:
    def conditions(number: int) -> Conditions | None:
        if number == 1:
            return None
        return Conditions("group", number, None, None, None, None, ())

    records = run(FakeWorkspace(COST), entries, rounds=3, conditions=conditions)
    assert [type(r).__name__ for r in records] == (
        ["Round"] * 8 + ["Conditions"] + ["Round"] * 8 + ["Round"] * 8 + ["Conditions"]
    )
    assert records[8] == Conditions("group", 0, None, None, None, None, ())


def test_the_case_is_announced_before_its_batch(entries: list[Entry]) -> None:
    workspace = FakeWorkspace(COST)
    announced: list[tuple[str, int]] = []
    run(workspace, entries, rounds=2,
        starting=lambda case: announced.append((case.variant, len(workspace.calls))))  # fmt: skip
    assert len(announced) == 4 + 2 * 4
    for variant, calls in announced:
        assert workspace.calls[calls][0] == variant


def test_a_workspace_that_fails_ends_the_rounds_after_what_was_recorded(
    entries: list[Entry],
) -> None:
    class Failing(FakeWorkspace):
        def time(self, *arguments: Any, **named: Any) -> list[list[float]]:
            if len(self.calls) == 12:
                raise RuntimeError("the context is lost")
            return super().time(*arguments, **named)

    found: list[Record] = []
    records = measure(Failing(COST), entries, 8, 10, np.random.default_rng(1))
    with pytest.raises(RuntimeError, match="context is lost"):
        found.extend(records)
    assert len(found) == 8
