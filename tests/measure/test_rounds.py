"""Rounds on a workspace whose clock is simulated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.backends.base import BUSY, KEPT, LATE, LONG_NS, Batch, Right
from harness.cases import Case, Flush, Step
from harness.compiler.compile import Built
from harness.journal.records import Cache, Conditions, Outcome, Record, Round
from harness.measure.rounds import BATCH_NS, DEADLINE_S, FEWEST, Clock, Entry, Hooks, measure
from harness.statistics.intervals import speedup

Call = tuple[str, str, int, bool]
"""Variant, cache, launches, apart."""

RIGHT = Right((7,))


class FakeWorkspace:
    """Every launch takes its variant's time, which increases from call to call; warm launches take
    half of it.

    `wrong` maps a variant to a number of calls; after them, one launch of each of its batches gives
    a wrong result. `changed` does the same for batches that change an input.
    """

    def __init__(
        self,
        cost: Mapping[str, float],
        drift: float = 0.0,
        wrong: Mapping[str, int] | None = None,
        changed: Mapping[str, int] | None = None,
    ) -> None:
        self.cost, self.drift = cost, drift
        self.wrong, self.changed = wrong or {}, changed or {}
        self.calls: list[Call] = []
        self.made_ready: list[str] = []

    def time(
        self,
        case: Case,
        built: Built | None,
        cache: Cache,
        launches: int,
        right: Right | None = None,
        apart: bool = False,
        flush: Flush = "clean",
    ) -> Batch:
        self.calls.append((case.variant, cache, launches, apart))
        total = self.cost[case.variant] * (0.5 if cache == "warm" else 1.0)
        total *= 1 + self.drift * len(self.calls)
        times = (total * 0.75, total * 0.25) if apart else (total,)
        late = len(self.calls)
        return Batch(
            (times,) * launches,
            int(late >= self.wrong.get(case.variant, 10**9)),
            "an input changed" if late >= self.changed.get(case.variant, 10**9) else "",
        )

    def ready(self, case: Case, built: Built | None, right: Right) -> str:
        assert right == RIGHT
        self.made_ready.append(case.variant)
        return "its result is another now" if case.variant == "stale" else ""


@pytest.fixture
def entries(double: Callable[..., Case]) -> list[Entry]:
    """v0 (the baseline, twice), v1, v2."""
    found = [Entry(double(name), None, RIGHT) for name in ("v0", "v1", "v2")]
    return [*found, replace(found[0], repeat=True)]


COST = {"v0": 4000.0, "v1": 2000.0, "v2": 8000.0}


def run(
    workspace: FakeWorkspace, entries: list[Entry], rounds: int = 8, seed: int = 1, **more: Any
) -> list[Record]:
    found = measure(workspace, entries, rounds, 10, np.random.default_rng(seed), **more)  # type: ignore[arg-type]
    return [record for records in found for record in records]


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


def test_every_case_is_made_ready_once_before_the_first_round(entries: list[Entry]) -> None:
    workspace = FakeWorkspace(COST)
    records = run(workspace, entries, rounds=2)
    assert len(records) == 2 * 4 * 2
    assert workspace.made_ready == ["v0", "v1", "v2"]
    assert workspace.calls[:3] == [(v, "cold", 2, False) for v in ("v0", "v1", "v2")]
    assert len(workspace.calls) == 3 + len(records)


def test_a_record_says_in_which_placement_it_was_made(entries: list[Entry]) -> None:
    found = run(FakeWorkspace(COST), entries, rounds=2, placement=5)
    assert {r.placement for r in found if isinstance(r, Round)} == {5}


def test_drift_cancels_in_the_paired_ratio(entries: list[Entry]) -> None:
    found = of_cache(run(FakeWorkspace(COST, drift=0.01), entries, rounds=20))

    def times(variant: str, repeat: bool = False) -> dict[tuple[int, int], float]:
        return {(0, r.round): float(np.median(r.samples_ns)) for r in found
                if r.case.split("/")[1] == variant and r.repeat == repeat}  # fmt: skip

    v0 = list(times("v0").values())
    assert max(v0) / min(v0) > 2  # everything became steadily slower
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
    # A batch is cut to 2 ms, but not to fewer than three launches unless one takes 10 ms.
    [(1e3, 10), (200e3, 10), (250e3, 8), (666e3, 3), (9.9e6, 3), (10e6, 1), (1e12, 1), (0.0, 10)],
)
def test_a_slow_kernels_batch_is_cut(
    double: Callable[..., Case], cost: float, launches: int
) -> None:
    workspace = FakeWorkspace({"v0": cost})
    found = of_cache(run(workspace, [Entry(double(), None)], rounds=1))
    assert [len(r.samples_ns) for r in found] == [launches]
    assert launches == (1 if cost >= LONG_NS else FEWEST) or launches * cost <= BATCH_NS


def test_a_slow_case_takes_part_in_as_many_rounds_as_a_second_holds(entries: list[Entry]) -> None:
    def rounds_of(cost: float) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for r in of_cache(run(FakeWorkspace({**COST, "v2": cost}), entries, rounds=8)):
            found.setdefault(r.case.split("/")[1], []).append(r.round)
        return found

    # A round has three launches: a cold one, and a warm one preceded by another.
    assert rounds_of(40e6)["v2"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert rounds_of(100e6)["v2"] == [0, 1, 2]
    assert rounds_of(10e9)["v2"] == [0], "one at least"
    assert rounds_of(10e9)["v1"] == [0, 1, 2, 3, 4, 5, 6, 7], "the others have all of theirs"


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


def test_steps_are_timed_apart_in_the_first_round_only(double: Callable[..., Case]) -> None:
    records = run(FakeWorkspace(COST), [Entry(two_steps(double()), None)], rounds=3)
    assert [bool(r.steps_ns) for r in of_cache(records)] == [True, False, False]


def test_the_second_batch_of_a_baseline_times_no_steps(double: Callable[..., Case]) -> None:
    records = run(FakeWorkspace(COST), [Entry(two_steps(double()), None, repeat=True)], rounds=1)
    assert [r.steps_ns for r in of_cache(records)] == [()]


def test_the_conditions_of_each_round_follow_it(entries: list[Entry]) -> None:
    def conditions(number: int) -> Conditions | None:
        if number == 1:
            return None
        return Conditions("group", number, None, None, None, None, ())

    records = run(FakeWorkspace(COST), entries, rounds=3, hooks=Hooks(conditions=conditions))
    assert [type(r).__name__ for r in records] == (
        ["Round"] * 8 + ["Conditions"] + ["Round"] * 8 + ["Round"] * 8 + ["Conditions"]
    )
    assert records[8] == Conditions("group", 0, None, None, None, None, ())


def test_the_clock_after_each_batch_is_recorded_with_it(entries: list[Entry]) -> None:
    clocks = iter(range(1, 100))
    hooks = Hooks(clock=lambda: Clock(1000 * next(clocks), ("HwSlowdown",)))
    found = [r for r in run(FakeWorkspace(COST), entries, 1, hooks=hooks) if isinstance(r, Round)]
    assert [r.sm_clock_hz for r in found] == [1000 * i for i in range(1, 9)]
    assert {r.throttle for r in found} == {("HwSlowdown",)}


def test_a_case_is_announced_before_its_batch_with_the_time_that_it_may_take(
    entries: list[Entry],
) -> None:
    workspace = FakeWorkspace({**COST, "v1": 1e9})
    announced: list[tuple[str, int, float]] = []
    hooks = Hooks(lambda case, seconds: announced.append(
        (case.variant, len(workspace.calls), seconds)))  # fmt: skip
    run(workspace, entries, rounds=2, hooks=hooks)
    assert len(announced) == 3 + 2 * (4 + 3), "v1 is too slow for a second round"
    for variant, calls, seconds in announced:
        assert workspace.calls[calls][0] == variant
        slow = variant == "v1" and calls > 2
        assert seconds == pytest.approx(DEADLINE_S + 500 if slow else DEADLINE_S, abs=0.1)


def test_a_wrong_launch_ends_its_case_with_how_many_of_how_many(entries: list[Entry]) -> None:
    found = run(FakeWorkspace(COST, wrong={"v1": 12}), entries)
    [ended] = [r for r in found if isinstance(r, Outcome)]
    assert ended.case.split("/")[1] == "v1"
    assert ended.status == "failed"
    assert re.search(r"wrong in 1 of \d+ timed launches", ended.reason)
    after = [r for r in found[found.index(ended) :] if isinstance(r, Round)]
    assert {r.case.split("/")[1] for r in after} == {"v0", "v2"}
    for number in range(8):  # the others' rounds are complete
        mine = [r for r in of_cache(found) if r.round == number and "/v1/" not in r.case]
        assert len(mine) == 3


def test_a_case_that_changes_memory_is_ended_by_name(entries: list[Entry]) -> None:
    found = run(FakeWorkspace(COST, changed={"v2": 1}), entries)
    [ended] = [r for r in found if isinstance(r, Outcome)]
    assert "/v2/" in ended.case
    assert "an input changed" in ended.reason
    assert not [r for r in found if isinstance(r, Round) and "/v2/" in r.case]


def test_a_case_whose_result_is_no_longer_what_was_verified_is_not_timed(
    double: Callable[..., Case], entries: list[Entry]
) -> None:
    stale = Entry(double("stale"), None, RIGHT)
    found = run(FakeWorkspace({**COST, "stale": 1.0}), [stale, *entries])
    [ended] = [r for r in found if isinstance(r, Outcome)]
    assert "its result is another now" in ended.reason
    assert len(of_cache(found)) == 8 * 4


def test_a_workspace_that_fails_ends_the_rounds_after_the_last_whole_one(
    entries: list[Entry],
) -> None:
    class Failing(FakeWorkspace):
        def time(self, *arguments: Any, **named: Any) -> Batch:
            if len(self.calls) == 12:
                raise RuntimeError("the context is lost")
            return super().time(*arguments, **named)

    found: list[list[Record]] = []
    rounds = measure(Failing(COST), entries, 8, 10, np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="context is lost"):
        found.extend(rounds)
    assert [len(records) for records in found] == [8]  # the incomplete round is not reported


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Batch(((1.0,),), wrong=2, kept=2, first="first in launch 1"), f"{KEPT} (2 of "),
        (Batch(((1.0,),), late=1), f"{LATE} (1 of "),
        (Batch(((1.0,),), busy_ns=80_000.0), f"{BUSY}, for 80 µs or more"),
    ],
)
def test_work_that_is_not_where_it_is_timed_fails_by_name(
    entries: list[Entry], found: Batch, words: str
) -> None:
    class Elsewhere(FakeWorkspace):
        def time(self, case: Case, *asked: Any, **more: Any) -> Batch:
            told = super().time(case, *asked, **more)
            return found if case.variant == "v1" else told

    ended = [r for r in run(Elsewhere(COST), entries, rounds=2) if isinstance(r, Outcome)]
    assert [r.case for r in ended] == [entries[1].case.id]
    assert ended[0].reason.startswith(f"while timed: {words}")


def test_a_host_that_is_busy_now_and_then_costs_no_variant_its_place(entries: list[Entry]) -> None:
    class BusyHost(FakeWorkspace):
        def time(self, *asked: Any, **more: Any) -> Batch:
            told = super().time(*asked, **more)
            return replace(told, busy_ns=53_000.0) if len(self.calls) % 4 else told

    found = run(BusyHost(COST), entries, rounds=2)
    assert not [r for r in found if isinstance(r, Outcome)]
    assert len(of_cache(found)) == 2 * len(entries)


def test_a_function_that_replaced_something_fails_and_no_kernel_is_asked(
    entries: list[Entry],
) -> None:
    asked: list[str] = []

    def tampered() -> str:
        asked.append("")
        return "it replaced time.sleep" if len(asked) == 3 else ""

    called = replace(entries[1], case=replace(entries[1].case, kind="python", steps=()))
    entries[1] = called
    ended = [
        r for r in run(FakeWorkspace(COST), entries, rounds=2, hooks=Hooks(tampered=tampered))
        if isinstance(r, Outcome)
    ]  # fmt: skip
    assert [r.case for r in ended] == [called.case.id]
    assert "it replaced time.sleep" in ended[0].reason
    assert len(asked) == 3, "when it was made ready, launched twice, and in its first batch"
