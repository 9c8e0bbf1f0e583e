"""Forecast a run's duration by stage: printed first, kept up to date, and compared at the end.

A run consists of steps: units to compile, variants to verify, groups to measure. The duration of
each on this machine is remembered and used as its forecast. A new step is estimated from its size
at rates measured on one machine, scaled by how much longer or shorter this stage's remembered steps
took than at those rates. A first run has only the rates, and reports that its forecast is rough.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic

from harness.cases import Case
from harness.compiler import cache
from harness.journal import storage
from harness.matrix.written import Timing

COMPILE_S, VERIFY_S, PREPARE_S, CEILINGS_S, COUNT_S, REPORT_S = 1.0, 1.5, 6.0, 8.0, 1.5, 0.2
"""The seconds that a unit, a variant, a group prepared ahead, the ceilings, a profiled case and a
group's page took on a machine with an H100 or H200 and 16 cores; the first three on a single
core."""
EMULATED_COMPILE_S, EMULATED_S, EMULATED_REPORT_S = 0.6, 1.55, 0.15
"""The corresponding seconds for a run without a GPU, on the machine of `PACE_S`: 389 units, the
engine and 219 variants took 5 min 18 s to 5 min 52 s on its two cores."""
PACE_S, _PACE_TIMES = 0.0061, 3
"""The seconds that `_some_work` took on the reference machine, and the number of times that it is
timed (the median is used)."""
PROCESS_S, CASE_S, ELEMENT_S = 0.68, 0.096, 11e-9
"""The duration of a placement in a process of its own, in seconds: a fixed part, a part per case,
and a part per element of the inputs and outputs, which each process generates and verifies unless
they were prepared ahead. Fitted to 117 groups of 15 problems on twelve H100s: the fit matches the
total, and the durations of 21 of 28 runs were within a quarter of the forecast."""
SHARED_S, SHARED_CASE_S = 0.25, 0.026
"""The corresponding seconds for a placement in an existing process, which has already generated the
inputs and outputs."""

ROUGH = 0.25
"""A forecast is rough if more than this share of it comes from the rates alone."""
TRUST = 0.2
"""The weight of the forecast in a stage's pace: it counts as if this share of the stage had taken
exactly as long as forecast."""
UPDATE_S = 30.0
"""Seconds between two messages about the remaining time."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class ForecastStep:
    """`seconds`: an estimate from the rates, on one core."""

    stage: str
    name: str
    seconds: float


@dataclass
class Durations:
    """Stage → step → its duration on this machine and the estimate from the rates, in seconds."""

    known: dict[str, dict[str, tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def of(self, step: ForecastStep) -> float:
        if found := self.known[step.stage].get(step.name):
            took, by_rates = found
            return took * step.seconds / by_rates if by_rates else took
        return step.seconds * self._ratio(step.stage)

    def has(self, step: ForecastStep) -> bool:
        return step.name in self.known[step.stage]

    def note(self, step: ForecastStep, took: float) -> None:
        self.known[step.stage][step.name] = took, step.seconds

    def _ratio(self, stage: str) -> float:
        pairs = self.known[stage].values()
        by_rates = sum(each for _, each in pairs)
        return sum(took for took, _ in pairs) / by_rates if by_rates else 1.0


def file() -> Path:
    return cache.CACHE.parent / "durations.json"


def load(machine: str) -> Durations:
    """Load the stored durations of a machine; empty if the file does not exist or has a different
    format.
    """
    found = Durations()
    with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
        for stage, steps in json.loads(file().read_text())[machine].items():
            for name, (took, by_rates) in steps.items():
                found.known[stage][name] = float(took), float(by_rates)
    return found


def save(machine: str, durations: Durations) -> None:
    """Save this machine's durations, keeping those of other machines."""
    try:
        everything = dict(json.loads(file().read_text()))
    except (OSError, ValueError, TypeError):
        everything = {}
    everything[machine] = durations.known
    with suppress(OSError):  # a run must not fail because of its forecast
        file().parent.mkdir(parents=True, exist_ok=True)
        storage.replace_text(file(), json.dumps(everything))


class Forecast:
    """The forecast of one run.

    `cores`: the cores shared by the steps of a stage that runs several at a time. `durations`: the
    durations known before the run, to which the run adds its own.
    """

    def __init__(
        self,
        steps: Iterable[ForecastStep],
        durations: Durations,
        cores: Mapping[str, int],
        say: Say,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._steps = {(step.stage, step.name): step for step in steps if step.seconds > 0}
        self.durations, self._cores, self._say, self._clock = durations, cores, say, clock
        self._began = self._said_at = clock()
        self._took: dict[str, float] = {}
        self._left = dict(self._steps)
        self._done: dict[str, list[tuple[float, float]]] = defaultdict(list)
        """Stage → for each finished step, the time that it took and the time expected."""
        self._expected = {key: durations.of(step) for key, step in self._steps.items()}
        by_rates = sum(
            self._wall(key) for key, step in self._steps.items() if not durations.has(step)
        )
        self.total = sum(self._wall(key) for key in self._steps)
        self.is_rough = by_rates > ROUGH * self.total

    def _wall(self, key: tuple[str, str]) -> float:
        return self._expected[key] / self._cores.get(key[0], 1)

    def begin(self) -> None:
        """Print how long the run will take."""
        if not self._steps:
            return
        parts: dict[str, float] = defaultdict(float)
        for stage, name in self._steps:
            parts[stage] += self._wall((stage, name))
        rough = (
            "; roughly, as most of this was never timed on this machine" if self.is_rough else ""
        )
        self._say(f"this will take about {words(self.total)}: {listed(parts)}{rough}")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage. When the stage ends, its steps are treated as done, whether or not they
        were reported."""
        began = self._clock()
        yield
        took = self._took[name] = self._clock() - began
        rest = [key for key in self._left if key[0] == name]
        if not self._done[name]:  # it reports no steps, so they share its time
            expected = sum(self._wall(key) for key in rest)
            for key in rest:
                self.durations.note(self._steps[key], took * self._expected[key] / expected)
        for key in rest:
            del self._left[key]
        if rest or self._done[name]:
            self._update(at_least_s=0)

    def took(self, stage: str, name: str, seconds: float) -> None:
        """Record that a step is done; may be called from any thread."""
        step = self._left.pop((stage, name), None)
        if step:
            self._done[stage].append((seconds, self._expected[stage, name]))
            self.durations.note(step, seconds)
            self._update(at_least_s=UPDATE_S)

    @property
    def left(self) -> float:
        """Estimate the remaining seconds.

        The remaining steps of the current stage are assumed to deviate from their forecasts as the
        finished ones did. The fewer steps are finished, the less weight they have.
        """
        rest = list(self._left)
        pace = {stage: self._pace(stage) for stage in {stage for stage, _ in rest}}
        return sum(self._wall(key) * pace[key[0]] for key in rest)

    def _pace(self, stage: str) -> float:
        """The ratio of a stage's duration to its forecast, judging by its finished steps."""
        whole = sum(each for key, each in self._expected.items() if key[0] == stage)
        took = sum(seconds for seconds, _ in self._done[stage])
        expected = sum(each for _, each in self._done[stage])
        return (took + TRUST * whole) / (expected + TRUST * whole)

    def _update(self, at_least_s: float) -> None:
        now = self._clock()
        if not self._left or now - self._said_at < at_least_s:
            return
        self._said_at = now
        self._say(f"after {words(now - self._began)}: about {words(self.left)} left")

    def end(self) -> None:
        """Print how long the run took, and its forecast."""
        if self._steps:
            took = self._clock() - self._began
            said = f"said {words(self.total)}{', roughly' if self.is_rough else ''}"
            self._say(f"took {words(took)}: {listed(self._took)}; {said}")


def pace(clock: Callable[[], float] = monotonic) -> float:
    """Measure how much slower this machine currently is than the reference machine, including the
    effect of all other load."""
    took = []
    for _ in range(_PACE_TIMES):
        began = clock()
        _some_work()
        took.append(clock() - began)
    return median(took) / PACE_S


def _some_work() -> None:
    found: dict[int, int] = {}
    for n in range(60_000):
        found[n % 977] = found.get(n * 31 % 977, 0) + n


def nothing() -> Forecast:
    """A forecast for a run that does not need one."""
    return Forecast((), Durations(), {}, lambda line: None)


def steps(
    cases: Sequence[Case],
    units: int,
    timing: Timing | None,
    counted: int = 0,
    ahead: Collection[str] = (),
    pace: float = 1.0,
    elements: Callable[[Case], int] = lambda case: 0,
    measure_s: float = math.inf,
) -> Iterator[ForecastStep]:
    """The steps of a run of these cases. `units`: how many are compiled. `timing`: None if nothing
    is timed.

    `counted`: how many cases are profiled. `ahead`: groups that are prepared before any is
    measured. `pace`: this machine's slowdown (see the function `pace`), for a run without a GPU.
    `elements`: a function that counts the elements of a case's inputs and outputs. `measure_s`: the
    seconds after which a group gets no more placements than its first look needs (see
    measurement.py).
    """
    compile_s, verify_s, report_s = (
        (COMPILE_S, VERIFY_S, REPORT_S)
        if timing
        else (pace * each for each in (EMULATED_COMPILE_S, EMULATED_S, EMULATED_REPORT_S))
    )
    yield ForecastStep("compile", "units", compile_s * units)
    for name in dict.fromkeys(f"{c.problem}/{c.variant}" for c in cases if not c.is_library):
        yield ForecastStep("verify", name, verify_s)
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.group].append(case)
    if timing and groups:
        for group in ahead:
            yield ForecastStep("prepare", group, PREPARE_S)
        yield ForecastStep("ceilings", "ceilings", CEILINGS_S)
        shared = timing.shared_processes
        start_s, case_s = (SHARED_S, SHARED_CASE_S) if shared else (PROCESS_S, CASE_S)
        first, last = (timing.choosing + timing.looks[n] for n in (0, -1))
        for group, members in groups.items():
            drawn_s = (group not in ahead) * ELEMENT_S * max(map(elements, members))
            warm_s = start_s + case_s * len(members)
            each_s = warm_s + (0 if shared else drawn_s)
            prepare_s = 0 if group in ahead else warm_s + drawn_s
            place_s = max(first * each_s, min((first + last) / 2 * each_s, measure_s))
            yield ForecastStep("measure", group, prepare_s + place_s)
    yield ForecastStep("profile", "cases", COUNT_S * counted)
    yield ForecastStep("report", "pages", report_s * len(groups))


def words(seconds: float) -> str:
    """A duration in words: `40 s`, `2 min 40 s`, `1 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{max(1, whole)} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def listed(parts: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} {words(seconds)}" for name, seconds in parts.items() if seconds >= 0.5
    )
