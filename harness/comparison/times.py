"""Determine how each case's time changed, with its interval and the verdict that it allows.

In one run that has both sides, times are compared within rounds, as all times in a run are. Two
runs share no rounds, so their times are compared by Welch's t on the means over placements, each of
which is a separate process. The run's effect on all cases together is subtracted, and the intervals
allow for its effect on each case (`run_level`), unless there are too few variants to estimate these
effects.

All comparisons except those of identical machine code are one family (Holm), whatever their
problem, size, launch shape and cache state. At a confidence of 95 %, at most one in twenty
comparisons of runs with unchanged kernels therefore reports anything as slower or faster.

A change is "same" if its whole interval is within `same_within` of 1, or within `min_effect` if
that is less. It is "slower" or "faster" if it is certain within the family and its whole interval
is beyond the floor. The floor is the largest of these figures: the difference between the
baseline's two batches within either run; the difference between the two runs for identical machine
code, if that difference is certain; and, if there are too few variants to estimate the run's
effect, `min_effect` or, if there is too little unchanged code to compare with, the change of the
median case, whichever is larger (up to 10 %).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from harness.comparison import machines, run_level
from harness.comparison.machines import Difference
from harness.comparison.pairs import Pair, Side
from harness.comparison.run_level import Level
from harness.statistics import intervals
from harness.statistics.intervals import Estimate, Interval, certain, difference, verdict
from harness.statistics.net_times import Group, group_of

Verdict = intervals.Verdict | Literal["identical", "not compared"]
"""identical: the same machine code, whatever the times are. not compared: see `reason`."""

Key = tuple[int, str]
"""A pair's number, and the cache state."""

CACHES = ("cold", "warm")

MOST_OF_A_RUN = 0.1
"""The largest change that is attributed to the run itself. No run was seen to shift all kernels of
a card by this much at the same clock."""

At = tuple[Group, str]
"""A size, and the cache state."""


@dataclass(frozen=True)
class TimeChange:
    """One case's time before and after, in one cache state."""

    cache: str
    base: Interval
    """The time in ns, with the interval from its own run."""
    new: Interval
    ratio: Interval | None
    """The new time over the base's: 1.02 means 2 % longer. Across machines, both times are relative
    to their own run's baseline. None if the two cannot be compared."""
    verdict: Verdict
    reason: str = ""
    base_gbps: float | None = None
    new_gbps: float | None = None
    """Compulsory bytes over the time."""
    hides: float = 0.0
    """The largest slowdown beyond the floor, as a fraction of the time, that is not ruled out, at a
    confidence that holds for all comparisons together. 0 if nothing was compared."""


@dataclass(frozen=True)
class Looked:
    """The number of comparisons in one family, and the confidence of each interval."""

    family: int = 0
    confidence: float | None = None
    floors: Mapping[At, float] | None = None
    """The floor that a change must exceed, for each size and cache state. Floors of zero are left
    out."""
    levels: Mapping[At, Level] = field(default_factory=dict)
    """The shift of the new run as a whole, for each size and cache state. Empty within one run."""


def changes(
    pairs: Sequence[Pair], identical: frozenset[int], *, in_rounds: bool, relative: bool, why: str,
    min_effect: float,
) -> tuple[dict[int, list[TimeChange]], Looked]:  # fmt: skip
    """Map each pair that both sides timed to its changes, one per cache state.

    `identical`: the pairs with the same machine code. `in_rounds`: whether one run has both sides.
    `relative`: whether to compare each run's times relative to its own baseline. `why`: the reason
    why no times may be compared, if there is one. `min_effect`: the slowdown to be found, as a
    fraction of the time.
    """
    timed = {
        (i, cache): (pair.base, pair.new)
        for i, pair in enumerate(pairs)
        if pair.base and pair.new
        for cache in CACHES
        if _sound(pair.base, cache) and _sound(pair.new, cache)
    }
    if not timed:
        return {}, Looked()
    runs = {id(side.run): side.run for both in timed.values() for side in both}
    timings = [run.timings for run in runs.values()]
    looks = max(t.looks for t in timings)
    error = min(t.error for t in timings) / looks
    same = min(min_effect, *(t.same_within for t in timings))
    groups = {key: group_of(new.planned) for key, (_, new) in timed.items()}
    sides = {groups[key]: both for key, both in timed.items()}
    clocks = {at: machines.clocks(one.run, two.run, at) for at, (one, two) in sides.items()}
    withheld = {
        key: why or _withheld(*both, in_rounds, relative, clocks[groups[key]])
        for key, both in timed.items()
    }
    estimates = {
        key: estimate
        for key, (base, new) in timed.items()
        if not withheld[key]
        and (estimate := _estimate(base, new, key[1], in_rounds=in_rounds, relative=relative))
    }
    levels: dict[At, Level] = {}
    if not (in_rounds or relative):
        unchanged = identical | {i for (i, _), both in timed.items() if _same_library(*both)}
        estimates, levels = _without_the_runs_own(timed, groups, estimates, unchanged)
    family = {key: e.p_value() for key, e in estimates.items() if key[0] not in identical}
    real = certain(family, error)
    floors = _floors(timed, groups, estimates, identical, error)
    assumed = {at: _assumed(level, min_effect) for at, level in levels.items()}
    each = 1 - error / max(len(family), 1)
    found: dict[int, list[TimeChange]] = {}
    for key, (base, new) in timed.items():
        number, cache = key
        ratio = estimates[key].interval(1 - error) if key in estimates else None
        change = _told(base, new, cache, ratio)
        if number in identical:
            change = replace(change, verdict="identical")
        elif change.ratio is None:
            change = replace(change, reason=withheld[key] or "too little was measured")
        else:
            at = groups[key], cache
            floor = floors.get(at, 0.0)
            beyond = max(floor, assumed.get(at, 0.0))
            change = replace(
                change,
                verdict=verdict(change.ratio.inverse(), key in real, beyond, same, wholly=True),
                hides=max(estimates[key].interval(each).high / (1 + floor) - 1, 0.0),
            )  # fmt: skip
        found.setdefault(number, []).append(change)
    exceeded = {at: max(floor, assumed.get(at, 0.0)) for at, floor in floors.items()}
    exceeded = {at: floor for at, floor in exceeded.items() if floor}
    return found, Looked(len(family), 1 - error, exceeded, levels)


def _same_library(base: Side, new: Side) -> bool:
    """Return whether both sides call a library, with the same versions of all packages."""
    versions = [side.run.info.get("versions") or {} for side in (base, new)]
    return base.planned.is_library and new.planned.is_library and versions[0] == versions[1]


def _without_the_runs_own(
    timed: Mapping[Key, tuple[Side, Side]],
    groups: Mapping[Key, Group],
    estimates: Mapping[Key, Estimate],
    unchanged: frozenset[int],
) -> tuple[dict[Key, Estimate], dict[At, Level]]:
    """Remove the effect of the run itself from the changes; return the remaining changes, and the
    effect."""
    by_size: dict[At, dict[int, Estimate]] = {}
    for key, found in estimates.items():
        by_size.setdefault((groups[key], key[1]), {})[key[0]] = found
    left: dict[Key, Estimate] = {}
    levels: dict[At, Level] = {}
    for (group, cache), raw in by_size.items():
        sides = {i: timed[i, cache] for i in raw}
        own, levels[group, cache] = run_level.taken_off(sides, cache, raw, unchanged)
        left |= {(i, cache): found for i, found in own.items()}
    return left, levels


def _assumed(level: Level, min_effect: float) -> float:
    """The smallest change to report if there are too few variants to estimate the run's own
    effect."""
    if level.luck is not None:
        return 0.0
    moved = 0.0 if level.witnesses else math.expm1(abs(level.moved))
    return min(max(min_effect, moved), MOST_OF_A_RUN)


def _sound(side: Side, cache: str) -> bool:
    ok = side.run.outcomes[side.case].status == "ok"
    return ok and side.run.timings.time(side.case, cache) is not None


def _withheld(
    base: Side, new: Side, in_rounds: bool, relative: bool, apart: Difference | None
) -> str:
    """The reason why these two times cannot be compared; empty if they can."""
    if in_rounds:
        return ""
    for name, side in (("base", base), ("new run", new)):
        if _placements(side) < 2:
            return f"one placement in the {name}, whose interval holds for that process only"
    if relative:
        against = [(side.case, side.run.timings.baseline_of(side.case)) for side in (base, new)]
        if any(baseline in {None, case} for case, baseline in against):
            return "it is the baseline of its own run"
        return ""
    return f"{apart.what}: {apart.base} then, {apart.new} now" if apart else ""


def _placements(side: Side) -> int:
    times = {at for cache in CACHES for at in side.run.timings.times(side.case, cache)}
    return len({placement for placement, *_ in times})


def _estimate(
    base: Side, new: Side, cache: str, *, in_rounds: bool, relative: bool
) -> Estimate | None:
    """Estimate the logarithm of the ratio of the new time to the base's."""
    if in_rounds:
        return _within_rounds(base, new, cache)
    if relative:
        found = [_over_its_baseline(side, cache) for side in (base, new)]
    else:
        found = [side.run.timings.log_time(side.case, cache) for side in (new, base)]
    one, other = found
    return difference(one, other) if one and other else None


def _within_rounds(base: Side, new: Side, cache: str) -> Estimate | None:
    """Estimate the change from the rounds that both sides have, comparing within each round."""
    timings = new.run.timings
    now, was = timings.paired(new.case, base.case, cache)
    told = timings.log_speedup(base.case, new.case, cache)
    logs = {at: math.log(now[at] / was[at]) for at in was.keys() & now.keys()}
    found = run_level.trimmed(logs, run_level.TRIMMED_IN_ROUNDS) if told else None
    if told is None or found is None:
        return None
    return replace(found, resolution=told.resolution, bias=told.bias)


def _over_its_baseline(side: Side, cache: str) -> Estimate | None:
    timings = side.run.timings
    baseline = timings.baseline_of(side.case)
    return timings.log_speedup(side.case, baseline, cache) if baseline else None


def _told(base: Side, new: Side, cache: str, ratio: Interval | None) -> TimeChange:
    was, now = (side.run.time(side.case, cache) for side in (base, new))
    assert was is not None
    assert now is not None
    base_gbps, new_gbps = (
        side.planned.bytes / time.value if side.planned.bytes else None
        for side, time in ((base, was), (new, now))
    )
    return TimeChange(cache, was, now, ratio, "not compared", "", base_gbps, new_gbps)


def _floors(
    timed: Mapping[Key, tuple[Side, Side]],
    groups: Mapping[Key, Group],
    estimates: Mapping[Key, Estimate],
    identical: frozenset[int],
    error: float,
) -> dict[At, float]:
    """The observed difference between identical kernels: within either run, and between runs."""
    floors: dict[At, float] = {}

    def raise_to(at: At, value: float) -> None:
        floors[at] = max(floors.get(at, 0.0), value)

    for key, (base, new) in timed.items():
        at = groups[key], key[1]
        if at not in floors:
            for side in (base, new):
                raise_to(at, side.run.timings.floor(group_of(side.planned), key[1]))
    equal = {key: e for key, e in estimates.items() if key[0] in identical}
    for key in certain({key: e.p_value() for key, e in equal.items()}, error):
        interval = equal[key].interval(1 - error)
        raise_to((groups[key], key[1]), max(interval.high, 1 / interval.low) - 1)
    return floors
