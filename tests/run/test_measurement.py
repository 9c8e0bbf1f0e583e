"""The placements of a group, on a card that throttles on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from harness.backends.base import Right
from harness.cases import Case
from harness.job import Job
from harness.journal.records import Outcome, Planned, Round
from harness.processes.workers import Ended
from harness.run.measurement import Effort, Measurement
from harness.statistics.timings import Timings

EFFORT = Effort(looks=(3, 6), choosing=0, rounds=2, batch=4, interval=0.5, seconds=60)
PLACEMENT_S = 5.0


class Bench:
    """The run around a measurement: its placements take five seconds each on a simulated clock."""

    def __init__(self, cases: Sequence[Case], throttled: Iterable[int]) -> None:
        self.cases, self.throttled = cases, set(throttled)
        self.now, self.rounds, self.more_s = 0.0, list[Round](), 0.0
        self.outcomes: dict[str, Outcome] = {}

    def job(self, task: str, **more: object) -> Job:
        return Job(task, "none", None, Path(), 1, **more)  # type: ignore[arg-type]

    def do(self, job: Job, more_s: float = 0) -> Ended:
        if job.task == "prepare":
            self.more_s = more_s
            return Ended(right={case.id: Right((1,)) for case in job.cases})
        self.now += PLACEMENT_S
        why = ("HwThermalSlowdown",) if job.placement in self.throttled else ()
        self.rounds += [
            Round(case.id, cache, number, repeat, (100.0 + number,) * 4, (), job.placement, None,
                  why)
            for case in job.cases
            for cache in ("cold", "warm")
            for number in range(job.rounds)
            for repeat in (False, True)
        ]  # fmt: skip
        return Ended()

    def is_open(self, case: Case) -> bool:
        return case.id not in self.outcomes

    def finish(
        self, case: Case, status: str, reason: str = "", again: bool = False,
        limits: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.outcomes[case.id] = Outcome(case.id, status, reason, again)  # type: ignore[arg-type]

    def timings(self, cases: Sequence[Case]) -> Timings:
        planned = {
            c.id: Planned(c.id, c.problem, c.variant, c.dtype, c.sizes, c.launch, 1, 1, True, False)
            for c in cases
        }
        ok = {name: Outcome(name, "ok") for name in planned}
        settings = {"confidence": 0.95, "same_within": 0.01}
        return Timings(self.rounds, planned, ok, settings)


@pytest.fixture
def measured(double: Callable[..., Case]) -> Callable[[Iterable[int]], Bench]:
    def measure(throttled: Iterable[int]) -> Bench:
        case = double()
        bench = Bench([case], throttled)
        Measurement(bench, [case], "v0", EFFORT, clock=lambda: bench.now).carry_out()
        return bench

    return measure


Measured = Callable[[Iterable[int]], Bench]


def test_a_steady_card_is_measured_as_often_as_the_first_look_wants(measured: Measured) -> None:
    bench = measured([])
    assert {r.placement for r in bench.rounds} == {0, 1, 2}
    [ended] = bench.outcomes.values()
    assert (ended.status, ended.again) == ("ok", False)


def test_verifying_gigabytes_may_take_longer(double: Callable[..., Case]) -> None:
    """The host compares these gigabytes with its reference."""
    case = double()
    for needed, more in ((12 * 1024, 0), (2**34, 85)):
        bench = Bench([case], ())
        Measurement(
            bench, [case], "v0", EFFORT, needed_bytes=needed, clock=lambda bench=bench: bench.now
        ).carry_out()  # fmt: skip
        assert bench.more_s == more


def test_a_throttled_placement_is_measured_once_more(measured: Measured) -> None:
    bench = measured([1])
    assert {r.placement for r in bench.rounds} == {0, 1, 2, 3}
    [ended] = bench.outcomes.values()
    assert ended.status == "ok"


@pytest.mark.fault(
    "a card that is throttled all the time",
    outcome="Its cases end as `unstable` after limits.measure_s; a resumed run tries them again.",
)
def test_a_card_that_never_recovers_ends_as_unstable_within_the_deadline(
    measured: Measured,
) -> None:
    bench = measured(range(1000))
    assert bench.now <= EFFORT.seconds + 2 * PLACEMENT_S
    [ended] = bench.outcomes.values()
    assert (ended.status, ended.again) == ("failed", True)
    assert ended.reason.startswith("unstable: the card was throttled in every round of 13 of 13")
