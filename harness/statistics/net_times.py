"""A run's net times, batch by batch: the times of the valid rounds, with the events' cost
subtracted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from statistics import median
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from harness.journal.records import Outcome, Planned, Record, Round
from harness.statistics.event_cost import EventCosts
from harness.statistics.intervals import (
    Estimate,
    Interval,
    Times,
    batch_time,
    hidden_by,
    over_placements,
    tick_of,
    time_of,
)
from harness.statistics.spoiled_rounds import is_throttled_throughout, spoiled

P = ParamSpec("P")
Found = TypeVar("Found")
Self = TypeVar("Self", bound="NetTimes")

Group = tuple[str, str, str]
"""Problem, dtype and sizes as text: the cases that are measured together and compared."""


@dataclass(frozen=True)
class Spread:
    """The relative variation of a case's time, between placements and within one."""

    between: float
    within: float

    @property
    def depends_on_placement(self) -> bool:
        """Return whether memory placement matters more than all variation within one placement."""
        return self.between > 0.005 and self.between > 2 * self.within


def group_of(p: Planned) -> Group:
    return p.problem, p.dtype, " ".join(f"{k}={v}" for k, v in p.sizes.items())


def placements_that_choose(group: Iterable[Planned], wanted: int) -> int:
    """The number of placements that are used only to select launch shapes: 0 if no variant has more
    than one shape."""
    shapes = Counter(p.variant for p in group)
    return wanted if max(shapes.values(), default=0) > 1 else 0


def once(
    method: Callable[Concatenate[Self, P], Found],
) -> Callable[Concatenate[Self, P], Found]:
    """Cache a method's result for each set of arguments."""

    @wraps(method)
    def kept(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> Found:
        key = method.__name__, args, tuple(kwargs.items())
        if key not in self.known:
            self.known[key] = method(self, *args, **kwargs)
        found: Found = self.known[key]
        return found

    return kept


class NetTimes:
    """The rounds of a run. `timing`: run.json's settings of that name."""

    def __init__(
        self,
        records: Iterable[Record],
        planned: Mapping[str, Planned],
        outcomes: Mapping[str, Outcome],
        timing: Mapping[str, Any],
    ) -> None:
        self._planned, self._outcomes = planned, outcomes
        self.looks = int(timing.get("looks", 1))
        self.choosing = int(timing.get("choosing", 0))
        self.error = 1 - float(timing["confidence"])
        self.same_within = float(timing["same_within"])
        self._rounds: dict[tuple[str, str, bool], list[Round]] = defaultdict(list)
        records = list(records)
        self.event_costs = EventCosts(records)
        for record in records:
            if isinstance(record, Round) and record.case in planned:
                self._rounds[record.case, record.cache, record.repeat].append(record)
        self.known: dict[Any, Any] = {}

    @property
    def confidence(self) -> float:
        """The confidence of one interval. The permitted error is divided among all checks after
        which a run may stop."""
        return 1 - self.error / self.looks

    @cached_property
    def groups(self) -> dict[Group, list[Planned]]:
        """The groups of cases that are measured together, each with the library's cases last."""
        found: dict[Group, list[Planned]] = defaultdict(list)
        for p in sorted(self._planned.values(), key=lambda p: p.is_library):
            found[group_of(p)].append(p)
        return dict(found)

    def rounds(self, case: str, cache: str, repeat: bool = False) -> list[Round]:
        """Every round of a case, including the rounds used for selection and those excluded from
        figures."""
        return self._rounds.get((case, cache, repeat), [])

    @cached_property
    def left_out(self) -> dict[Group, Counter[str]]:
        """Group → reason → the number of its rounds excluded from all figures."""
        return {group: Counter(found.values()) for group, found in self._spoiled.items()}

    @cached_property
    def _spoiled(self) -> dict[Group, dict[tuple[int, int], str]]:
        """Group → the rounds excluded from all figures, and why."""
        rounds: dict[Group, list[Round]] = defaultdict(list)
        for found in self._rounds.values():
            rounds[group_of(self._planned[found[0].case])] += found
        return {group: spoiled(found) for group, found in rounds.items()}

    def is_spoiled(self, placement: int) -> bool:
        """Return whether the card was throttled in every round of a placement."""
        return is_throttled_throughout(
            r for found in self._rounds.values() for r in found if r.placement == placement
        )

    @cached_property
    def tick(self) -> float:
        """The step of the event clock, in ns."""
        return tick_of([ns for rounds in self._rounds.values() for r in rounds[:3]
                        for ns in r.samples_ns])  # fmt: skip

    def times(self, case: str, cache: str, repeat: bool = False) -> Times:
        """(placement, round) → that batch's time in ns, for the rounds used in figures.

        The events' own cost is subtracted from the interval between them.
        """
        return self._times(case, cache, repeat, for_choice=False)

    @once
    def _times(self, case: str, cache: str, repeat: bool, for_choice: bool) -> Times:
        intervals, group = self._intervals(case, cache, repeat, for_choice), self._group(case)
        net = {at: ns - self.event_costs.at(group, at[0], cache) for at, ns in intervals.items()}
        return net if all(ns > 0 for ns in net.values()) else {}  # nothing is left to compare

    @once
    def _intervals(self, case: str, cache: str, repeat: bool, for_choice: bool) -> Times:
        group = group_of(self._planned[case])
        spoiled = self._spoiled.get(group, {})
        choosing = placements_that_choose(self.groups[group], self.choosing)
        return {
            (r.placement, r.round): batch_time(r.samples_ns)
            for r in self.rounds(case, cache, repeat)
            if min(r.samples_ns, default=0.0) > 0  # if no time passed, the clock did not tick
            and (r.placement, r.round) not in spoiled
            and (r.placement < choosing) == for_choice
        }

    def _group(self, case: str) -> str:
        return self._planned[case].group

    def interval_between_events(self, case: str, cache: str) -> Interval | None:
        """The same as `time`, in ns, but before subtracting the events' cost."""
        times = self._intervals(case, cache, False, for_choice=False)
        found = time_of(times, self._hidden(case, cache))
        return found.interval(self.confidence) if found else None

    @once
    def _hidden(self, case: str, cache: str) -> float:
        return hidden_by(self.tick, [ns for r in self.rounds(case, cache) for ns in r.samples_ns])

    def _in_doubt(self, cache: str) -> float:
        """The possible error of the subtracted cost, in ns; it is the same for every time."""
        return self.event_costs.usual(cache).in_doubt_ns

    def time(self, case: str, cache: str) -> Interval | None:
        """The case's time in ns; None if there is too little data for an interval."""
        found = self.log_time(case, cache)
        return found.interval(self.confidence) if found else None

    @once
    def log_time(self, case: str, cache: str) -> Estimate | None:
        """The logarithm of the case's time in ns, for comparison with another run."""
        return time_of(self.times(case, cache), self._hidden(case, cache), self._in_doubt(cache))

    @once
    def step_times(self, case: str, cache: str) -> list[float]:
        """Each step's time in ns; empty if steps were not timed separately."""
        rounds = [r for r in self.rounds(case, cache) if r.steps_ns and all(r.steps_ns)]
        if not rounds:
            return []
        steps, group = len(rounds[0].steps_ns), self._group(case)
        by_step: list[Times] = [
            {
                (r.placement, r.round): batch_time(r.steps_ns[step])
                - self.event_costs.at(group, r.placement, cache)
                for r in rounds
            }
            for step in range(steps)
        ]
        return [median(over_placements(times)) for times in by_step]

    @once
    def spread(self, case: str, cache: str) -> Spread | None:
        """The spread of the case's time; None with fewer than three placements."""
        logs: dict[int, list[float]] = defaultdict(list)
        for (placement, _), ns in self.times(case, cache).items():
            logs[placement].append(math.log(ns))
        within = [float(np.var(each, ddof=1)) for each in logs.values() if len(each) > 1]
        if len(logs) < 3 or not within:
            return None
        inside = float(np.mean(within))
        rounds = float(np.mean([len(each) for each in logs.values()]))
        total = float(np.var([np.mean(each) for each in logs.values()], ddof=1))
        return Spread(math.sqrt(max(total - inside / rounds, 0.0)), math.sqrt(inside))
