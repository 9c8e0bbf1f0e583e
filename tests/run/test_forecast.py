"""A forecast uses this machine's earlier durations; simulated runs are compared with their
forecasts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cases import Case
from harness.compiler import cache
from harness.matrix.written import Timing
from harness.run import forecast
from harness.run.forecast import Durations, Forecast, ForecastStep

CORES = {"compile": 4, "verify": 4}
UNITS, VARIANTS, GROUPS = 12, 8, 10


class Simulated:
    """A run whose steps take the time that follows from the rates, times the machine's factor for
    their stage."""

    def __init__(self, durations: Durations, pace: dict[str, float], groups: int = GROUPS) -> None:
        self.now, self.said = 0.0, list[str]()
        self.steps = [ForecastStep("compile", "units", 3.0 * UNITS)]
        self.steps += [ForecastStep("verify", f"p/v{n}", 5.0) for n in range(VARIANTS)]
        self.steps += [ForecastStep("measure", f"g{n}", 2.0 + n) for n in range(groups)]
        self.pace = pace
        self.of = Forecast(self.steps, durations, CORES, self.said.append, lambda: self.now)

    def run(self) -> float:
        """Run all steps; return the simulated duration."""
        self.of.begin()
        with self.of.stage("compile"):
            self.now += 3.0 * UNITS * self.pace["compile"] / CORES["compile"]
        for stage in ("verify", "measure"):
            with self.of.stage(stage):
                for step in self.steps:
                    if step.stage == stage:
                        seconds = step.seconds * self.pace[stage]
                        self.now += seconds / CORES.get(stage, 1)
                        self.of.took(stage, step.name, seconds)
        self.of.end()
        return self.now


SLOW = {"compile": 4.0, "verify": 0.5, "measure": 3.0}


def test_a_run_like_one_before_takes_what_was_said_within_a_quarter() -> None:
    durations = Durations()
    Simulated(durations, SLOW).run()
    again = Simulated(durations, {name: 1.2 * pace for name, pace in SLOW.items()})
    assert again.run() == pytest.approx(again.of.total, rel=0.25)
    assert not again.of.is_rough
    assert "roughly" not in again.said[0]


def test_a_run_of_other_groups_is_foreseen_by_what_those_before_took_for_their_size() -> None:
    durations = Durations()
    Simulated(durations, SLOW, groups=3).run()
    larger = Simulated(durations, SLOW)
    assert larger.run() == pytest.approx(larger.of.total, rel=0.05)


def test_a_first_run_goes_by_the_rates_and_says_that_this_is_rough() -> None:
    first = Simulated(Durations(), SLOW)
    assert first.of.total == pytest.approx(9 + 10 + 65)
    assert first.of.is_rough
    first.run()
    assert first.said[0] == (
        "this will take about 1 min 24 s: compile 9 s, verify 10 s, measure 1 min 5 s; "
        "roughly, as most of this was never timed on this machine"
    )
    assert first.said[-1] == (
        "took 3 min 56 s: compile 36 s, verify 5 s, measure 3 min 15 s; said 1 min 24 s, roughly"
    )


def test_what_is_left_follows_the_pace_of_the_stage_that_is_going_on() -> None:
    run = Simulated(Durations(), {"compile": 1.0, "verify": 1.0, "measure": 3.0})
    run.run()
    lefts = [re.fullmatch(r"after (.+): about (.+) left", line) for line in run.said[1:-1]]
    assert lefts
    assert all(lefts)
    last = lefts[-1]
    assert last
    after, left = (_seconds(words) for words in last.groups())
    assert after + left == pytest.approx(run.now, rel=0.1)


def test_one_slow_step_of_many_does_not_speak_for_the_rest() -> None:
    steps = [ForecastStep("verify", f"p/v{n}", 5.0) for n in range(100)]
    found = Forecast(steps, Durations(), {}, lambda line: None, lambda: 0.0)
    found.took("verify", "p/v0", 50.0)
    assert found.left < 1.5 * 99 * 5.0
    for n in range(1, 50):
        found.took("verify", f"p/v{n}", 50.0)
    assert found.left > 7 * 50 * 5.0


def _seconds(words: str) -> int:
    found = {unit: int(count) for count, unit in re.findall(r"(\d+) (h|min|s)\b", words)}
    return 3600 * found.get("h", 0) + 60 * found.get("min", 0) + found.get("s", 0)


def test_what_was_taken_is_remembered_of_each_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE", tmp_path / ".cache" / "compile")
    fast, slow = Durations(), Durations()
    fast.note(ForecastStep("measure", "g", 2.0), 1.0)
    slow.note(ForecastStep("measure", "g", 2.0), 8.0)
    forecast.save("fast", fast)
    forecast.save("slow", slow)
    assert forecast.load("fast").of(ForecastStep("measure", "g", 2.0)) == 1.0
    assert forecast.load("slow").of(ForecastStep("measure", "g", 4.0)) == 16.0
    assert forecast.load("new").of(ForecastStep("measure", "g", 4.0)) == 4.0


@pytest.mark.parametrize("text", ["", "[]", "{", '{"fast": {"measure": {"g": "soon"}}}'])
def test_a_file_that_is_none_of_ours_is_as_good_as_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "CACHE", tmp_path / ".cache" / "compile")
    forecast.file().parent.mkdir()
    forecast.file().write_text(text)
    assert forecast.load("fast").of(ForecastStep("measure", "g", 2.0)) == 2.0
    durations = Durations()
    durations.note(ForecastStep("measure", "g", 2.0), 1.0)
    forecast.save("fast", durations)
    assert forecast.load("fast").of(ForecastStep("measure", "g", 2.0)) == 1.0


def test_shared_processes_fewer_placements_and_what_is_compiled_make_a_run_shorter(
    double: Callable[..., Case],
) -> None:
    cases = [double(), replace(double(), variant="v1")]
    whole = list(forecast.steps(cases, 5, Timing()))
    quick = Timing(placements=(3,), choosing=1, shared_processes=True)
    short = list(forecast.steps(cases, 0, quick))
    assert [step.stage for step in whole] == [step.stage for step in short]
    taken = {step.stage: step.seconds for step in whole}
    shorter = {step.stage: step.seconds for step in short}
    assert shorter["compile"] == 0
    assert shorter["measure"] < taken["measure"] / 10
    assert [s.stage for s in forecast.steps(cases, 5, None) if s.seconds] == [
        "compile", "verify", "verify", "report",
    ]  # fmt: skip


def test_large_arrays_lengthen_each_placement_unless_they_were_prepared_ahead(
    double: Callable[..., Case],
) -> None:
    cases, timing = [double()], Timing(placements=(6,), choosing=2)
    [group] = {case.group for case in cases}

    def measure_s(elements: int, ahead: tuple[str, ...] = (), most: float = 60) -> float:
        found = forecast.steps(cases, 0, timing, 0, ahead, 1.0, lambda case: elements, most)
        return {step.stage: step.seconds for step in found}["measure"]

    drawn = forecast.ELEMENT_S * 10**8
    assert measure_s(10**8) - measure_s(0) == pytest.approx(9 * drawn)  # including once to prepare
    assert measure_s(10**8, ahead=(group,)) == measure_s(0, ahead=(group,))


def test_no_more_is_forecast_than_the_first_look_where_that_takes_all_of_the_time(
    double: Callable[..., Case],
) -> None:
    def measure_s(most: float) -> float:
        timing = Timing(placements=(8, 24), choosing=2)
        found = forecast.steps([double()], 0, timing, elements=lambda case: 10**9, measure_s=most)
        return {step.stage: step.seconds for step in found}["measure"]

    one = forecast.PROCESS_S + forecast.CASE_S + forecast.ELEMENT_S * 10**9
    assert measure_s(1) == pytest.approx(11 * one)
    assert measure_s(15 * one) == pytest.approx(16 * one)
    assert measure_s(1000) == pytest.approx(19 * one)


def test_what_was_never_emulated_here_is_forecast_by_how_fast_this_machine_is(
    double: Callable[..., Case],
) -> None:
    cases = [double(), double(variant="v1")]
    there = {s.stage: s.seconds for s in forecast.steps(cases, 5, None)}
    here = {s.stage: s.seconds for s in forecast.steps(cases, 5, None, pace=3.0)}
    assert here == pytest.approx({stage: 3 * seconds for stage, seconds in there.items()})


def test_the_pace_is_that_of_a_piece_of_work_and_one_interruption_does_not_count() -> None:
    ticks = iter(forecast.PACE_S * n for n in (0, 2, 2, 90, 90, 92))
    assert forecast.pace(lambda: next(ticks)) == pytest.approx(2.0)
