"""Each variant's time or counters over many runs, and where a new level begins.

The change points of times are the boundaries of the optimal partition (Jackson and others, "An
algorithm for optimal partitioning of data on an interval", 2005) of their logarithms, in units of
the usual scatter between runs. An exact counter has no scatter, so any change is a new level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
import numpy.typing as npt

from harness.analysis.finders import evaluate
from harness.analysis.readings import Reading, Readings
from harness.comparison.regression_metrics import EXACT, GAUGES
from harness.journal.records import Planned
from harness.statistics.net_times import Group, group_of
from harness.tables import Run

FloatArray = npt.NDArray[np.float64]

PENALTY = 10.8
"""The improvement that an additional level must bring, in squared standard deviations: the value
that a χ² with one degree of freedom exceeds once in a thousand. If three times the logarithm of the
number of runs is larger, that is used instead."""

NORMAL = 1.4826
"""A normal distribution's standard deviation, divided by its median absolute deviation."""


@dataclass(frozen=True)
class Point:
    """`run`: the run's index in time order. `low`, `high`: the value's interval; for a counter, the
    value itself."""

    run: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One case over the runs.

    `what`: `time` or the key of a regression metric. `levels`: the indices of the points at which a
    new level begins.
    """

    case: Planned
    what: str
    points: tuple[Point, ...]
    levels: tuple[int, ...]

    @property
    def group(self) -> Group:
        return group_of(self.case)

    def step(self, at: int) -> tuple[float, float]:
        """The median of the level before a change point, and the median of the new level."""
        starts = [0, *self.levels, len(self.points)]
        i = starts.index(at)
        parts = self.points[starts[i - 1] : at], self.points[at : starts[i + 1]]
        before, after = (median(p.value for p in part) for part in parts)
        return before, after


@dataclass(frozen=True)
class History:
    """`runs`: in date order. `apart`: the runs left out because they used another device, each with
    that device.
    """

    runs: Sequence[Run]
    apart: Sequence[tuple[Run, str]]
    series: Sequence[Series]

    @property
    def changed(self) -> list[tuple[Series, int]]:
        """Every new level, latest first: its series and the index of its first point."""
        found = [(s, at) for s in self.series for at in s.levels]
        return sorted(found, key=lambda each: -each[0].points[each[1]].run)


def history(runs: Sequence[Run]) -> History:
    """The history of all runs with the device and backend of the newest. Each variant is shown at
    the launch shape that the newest run shows."""
    ordered = sorted(runs, key=lambda run: str(run.info.get("started", "")))
    newest = ordered[-1]
    kept = [run for run in ordered if _device(run) == _device(newest)]
    apart = [(run, _device(run)) for run in ordered if run not in kept]
    readings = [Readings(run) for run in kept]
    series = []
    for group in newest.groups():
        for p in newest.timings.shown(group):
            series += list(_of(p, kept, readings, newest.is_timed))
    return History(kept, apart, series)


def levels_of_times(points: Sequence[Point]) -> tuple[int, ...]:
    """The indices at which a new level of times begins."""
    if len(points) < 3:  # two times are too few to show scatter
        return ()
    logs = np.log([p.value for p in points])
    own = [math.log(p.high / p.low) / 4 for p in points]
    apart = np.abs(np.diff(logs)) / math.sqrt(2)
    scatter = max(median(own), NORMAL * float(np.median(apart)))
    if not scatter:
        return _where_it_differs(points, 0.0)
    penalty = max(PENALTY, 3 * math.log(len(points)))
    return _partition(logs / scatter, penalty)


def _partition(values: FloatArray, penalty: float) -> tuple[int, ...]:
    """The starts of the segments after the first, chosen to minimise the squared deviations from
    segment means plus a penalty per segment.

    The best partition of the first `end` values consists of a last segment and the best partition
    of the values before it, so each is found from shorter ones.
    """
    centred = values - values.mean()  # squares of large numbers would lose small differences
    sums, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (centred, centred**2))
    best, last = np.zeros(len(values) + 1), np.zeros(len(values) + 1, int)
    for end in range(1, len(values) + 1):
        starts = np.arange(end)
        deviation = squares[end] - squares[:end] - (sums[end] - sums[:end]) ** 2 / (end - starts)
        total = best[:end] + deviation + penalty
        last[end] = int(np.argmin(total))
        best[end] = total[last[end]]
    found, at = [], int(last[-1])
    while at:
        found.append(at)
        at = int(last[at])
    return tuple(reversed(found))


def _of(
    p: Planned, runs: Sequence[Run], readings: Sequence[Readings], timed: bool
) -> Iterator[Series]:
    sound = [
        (i, run)
        for i, run in enumerate(runs)
        if p.case in run.planned and run.outcomes[p.case].status == "ok"
    ]
    if timed:
        times = [(i, run.time(p.case)) for i, run in sound]
        points = tuple(Point(i, t.value, t.low, t.high) for i, t in times if t)
        if len(points) > 1:
            yield Series(p, "time", points, levels_of_times(points))
        return
    for gauge in GAUGES:
        found = [(i, evaluate(gauge.key, readings[i], run.planned[p.case])) for i, run in sound]
        points = tuple(
            Point(i, r.value, r.value, r.value)
            for i, r in found
            if isinstance(r, Reading) and r.provenance in EXACT
        )
        if gauge.decides and len(points) > 1:
            yield Series(p, gauge.key, points, _where_it_differs(points, gauge.tolerance))


def _where_it_differs(points: Sequence[Point], tolerance: float) -> tuple[int, ...]:
    pairs = pairwise(points)
    return tuple(
        i for i, (was, now) in enumerate(pairs, 1)
        if abs(now.value - was.value) > tolerance * abs(was.value)
    )  # fmt: skip


def _device(run: Run) -> str:
    return str((run.info.get("device") or {}).get("name"))
