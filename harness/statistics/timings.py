"""What the rounds of a run say: times, comparisons, and which launch shape a variant is shown at.

The first placements of a group only choose the launch shapes, and every figure comes from the
others: the best of several noisy figures is better than the truth, but not in data that had no part
in the choice. All comparisons that a group's page makes are one family, and "faster" and "slower"
are said so that at most one family in twenty has a false one (at a confidence of 95 %).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import product
from statistics import median
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from harness.journal.records import Outcome, Planned, Record, Round
from harness.statistics.event_cost import EventCosts
from harness.statistics.intervals import (
    Estimate,
    Interval,
    Key,
    Times,
    Verdict,
    batch_time,
    certain,
    hidden_by,
    over_placements,
    speedup,
    tick_of,
    time_of,
    verdict,
)
from harness.statistics.spoiled_rounds import is_throttled_throughout, spoiled

P = ParamSpec("P")
Found = TypeVar("Found")

Group = tuple[str, str, str]
"""Problem, dtype and sizes as text: the cases that are measured together and compared."""


@dataclass(frozen=True)
class Comparison:
    """One case against another at the same sizes, round by round."""

    ratio: Interval | None
    """How many times faster, with its interval."""
    verdict: Verdict


@dataclass(frozen=True)
class Spread:
    """What a case's time varies by, as parts of it: between placements, and within one."""

    between: float
    within: float

    @property
    def depends_on_placement(self) -> bool:
        """Whether where the memory lies matters more than everything that varies in one place."""
        return self.between > 0.005 and self.between > 2 * self.within


def group_of(p: Planned) -> Group:
    return p.problem, p.dtype, " ".join(f"{k}={v}" for k, v in p.sizes.items())


def placements_that_choose(group: Iterable[Planned], wanted: int) -> int:
    """How many of a group's placements only choose launch shapes: none where no variant has two."""
    shapes = Counter(p.variant for p in group)
    return wanted if max(shapes.values(), default=0) > 1 else 0


def _once(
    method: Callable[Concatenate[Timings, P], Found],
) -> Callable[Concatenate[Timings, P], Found]:
    """Work a method's answer out once for each of its arguments."""

    @wraps(method)
    def kept(self: Timings, /, *args: P.args, **kwargs: P.kwargs) -> Found:
        key = method.__name__, args, tuple(kwargs.items())
        if key not in self.known:
            self.known[key] = method(self, *args, **kwargs)
        found: Found = self.known[key]
        return found

    return kept


class Timings:
    """The rounds of a run, ready to be compared. timing: run.json's settings of that name."""

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
        """Of one interval: the error allowed is shared by the looks at which one might stop."""
        return 1 - self.error / self.looks

    @cached_property
    def groups(self) -> dict[Group, list[Planned]]:
        """The cases that are measured together, the library's last."""
        found: dict[Group, list[Planned]] = defaultdict(list)
        for p in sorted(self._planned.values(), key=lambda p: p.is_library):
            found[group_of(p)].append(p)
        return dict(found)

    # What was measured

    def rounds(self, case: str, cache: str, repeat: bool = False) -> list[Round]:
        """Every round of a case, those that choose and those left out too."""
        return self._rounds.get((case, cache, repeat), [])

    @cached_property
    def left_out(self) -> dict[Group, Counter[str]]:
        """Group → reason → how many of its rounds are in no figure."""
        return {group: Counter(found.values()) for group, found in self._spoiled.items()}

    @cached_property
    def _spoiled(self) -> dict[Group, dict[tuple[int, int], str]]:
        """Group → the rounds that are in no figure, and why."""
        rounds: dict[Group, list[Round]] = defaultdict(list)
        for found in self._rounds.values():
            rounds[group_of(self._planned[found[0].case])] += found
        return {group: spoiled(found) for group, found in rounds.items()}

    def is_spoiled(self, placement: int) -> bool:
        """Whether the card was throttled in every round of a placement."""
        return is_throttled_throughout(
            r for found in self._rounds.values() for r in found if r.placement == placement
        )

    @cached_property
    def tick(self) -> float:
        """The step of the event clock, ns."""
        return tick_of([ns for rounds in self._rounds.values() for r in rounds[:3]
                        for ns in r.samples_ns])  # fmt: skip

    def times(self, case: str, cache: str, repeat: bool = False) -> Times:
        """(placement, round) → that batch's time, ns; of the rounds that figures are made from.

        What the events themselves cost is taken off the interval between them.
        """
        return self._times(case, cache, repeat, for_choice=False)

    @_once
    def _times(self, case: str, cache: str, repeat: bool, for_choice: bool) -> Times:
        net = {
            at: ns - self._event_cost(case, at[0], cache)
            for at, ns in self._intervals(case, cache, repeat, for_choice).items()
        }
        return net if all(ns > 0 for ns in net.values()) else {}  # nothing is left to compare

    @_once
    def _intervals(self, case: str, cache: str, repeat: bool, for_choice: bool) -> Times:
        group = group_of(self._planned[case])
        spoiled = self._spoiled.get(group, {})
        choosing = placements_that_choose(self.groups[group], self.choosing)
        return {
            (r.placement, r.round): batch_time(r.samples_ns)
            for r in self.rounds(case, cache, repeat)
            if min(r.samples_ns, default=0.0) > 0  # where an event took no time, none was seen
            and (r.placement, r.round) not in spoiled
            and (r.placement < choosing) == for_choice
        }

    def _event_cost(self, case: str, placement: int, cache: str) -> float:
        return self.event_costs.at(self._planned[case].group, placement, cache)

    def interval_between_events(self, case: str, cache: str) -> Interval | None:
        """What `time` gives, ns, before the events' cost is taken off."""
        times = self._intervals(case, cache, False, for_choice=False)
        found = time_of(times, self._hidden(case, cache))
        return found.interval(self.confidence) if found else None

    @_once
    def _hidden(self, case: str, cache: str) -> float:
        return hidden_by(self.tick, [ns for r in self.rounds(case, cache) for ns in r.samples_ns])

    def _in_doubt(self, cache: str) -> float:
        """By how much what is taken off may be wrong, in every time alike, ns."""
        return self.event_costs.usual(cache).in_doubt_ns

    def time(self, case: str, cache: str) -> Interval | None:
        """The case's time, ns; None where too little was measured for an interval."""
        found = self.log_time(case, cache)
        return found.interval(self.confidence) if found else None

    def log_time(self, case: str, cache: str) -> Estimate | None:
        """The logarithm of the case's time, ns, to be compared with that of another run."""
        return time_of(self.times(case, cache), self._hidden(case, cache), self._in_doubt(cache))

    @_once
    def step_times(self, case: str, cache: str) -> list[float]:
        """Each step's time, ns; empty where steps were not timed apart."""
        rounds = [r for r in self.rounds(case, cache) if r.steps_ns and all(r.steps_ns)]
        if not rounds:
            return []
        steps = len(rounds[0].steps_ns)
        by_step: list[Times] = [
            {
                (r.placement, r.round): batch_time(r.steps_ns[step])
                - self._event_cost(case, r.placement, cache)
                for r in rounds
            }
            for step in range(steps)
        ]
        return [median(over_placements(times)) for times in by_step]

    def spread(self, case: str, cache: str) -> Spread | None:
        """None with fewer than three placements."""
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

    # What is shown

    def shape(self, group: Group, variant: str, cache: str = "cold") -> Planned | None:
        """The sound case at which a variant is shown: its fastest launch shape, chosen apart.

        Without times, or where none is sound, the first sound one or None.
        """
        own = [p for p in self.groups[group] if p.variant == variant]
        return next(iter(self.fastest(own, cache)), None)

    def fastest(self, cases: Iterable[Planned], cache: str = "cold") -> list[Planned]:
        """Of the cases given, each variant's fastest sound one, by the choosing placements."""
        best: dict[str, tuple[float, Planned]] = {}
        for p in cases:
            if self._outcomes[p.case].status == "ok":
                cost = self._cost(p.case, cache)
                if p.variant not in best or cost < best[p.variant][0]:
                    best[p.variant] = cost, p
        return [p for _, p in best.values()]

    def slowest(self, group: Group, variant: str, cache: str = "cold") -> Planned | None:
        """The sound case at which a variant is slowest, by the same placements."""
        sound = (p for p in self.groups[group] if self._outcomes[p.case].status == "ok")
        own = [p for p in sound if p.variant == variant]
        return max(own, key=lambda p: self._cost(p.case, cache), default=None)

    @_once
    def _cost(self, case: str, cache: str) -> float:
        """A time to choose by, ns: of the placements set apart, or of all where there are none."""
        both = (self._times(case, cache, False, for_choice) for for_choice in (True, False))
        times = next((each for each in both if each), None)
        return median(over_placements(times)) if times else math.inf

    def baseline_of(self, case: str) -> str | None:
        """What a case is compared with: the baseline at the launch shape that it is shown at.

        One figure for all of a group, so that speed-ups are in proportion to the times beside
        them. A baseline that failed is nothing to compare with; `substitute` says what stands in.
        """
        group = group_of(self._planned[case])
        variant = self.reference(group)
        found = self.shape(group, variant) if variant else None
        return found.case if found else None

    def reference(self, group: Group) -> str | None:
        """The variant that speed-ups refer to: the baseline, or the first sound one instead."""
        cases = self.groups[group]
        sound = [p for p in cases if self._outcomes[p.case].status == "ok" and not p.is_library]
        ordered = sorted(sound, key=lambda p: not p.is_baseline)
        return ordered[0].variant if ordered else None

    def substitute(self, group: Group) -> str | None:
        """The variant that stands in for a baseline of which nothing is sound; else None."""
        found = self.reference(group)
        baseline = next((p.variant for p in self.groups[group] if p.is_baseline), None)
        return found if found != baseline else None

    def builds_on(self, p: Planned) -> Planned | None:
        """The case that this one is a step further than: that variant as it is shown."""
        return self.shape(group_of(p), p.builds_on) if p.builds_on else None

    # What is compared

    def compare(self, case: str, against: str, cache: str = "cold") -> Comparison:
        """How many times faster `case` is than `against`; the two share problem and sizes."""
        found = self.log_speedup(case, against, cache)
        ratio = found.interval(self.confidence) if found else None
        group = group_of(self._planned[case])
        family = self._certain(group, cache)
        if family is None:
            return Comparison(ratio, "invalid")
        pairs, real = family
        if (case, against) in pairs or (against, case) in pairs:
            is_certain = (case, against) in real or (against, case) in real
        else:  # none of those that the page makes: as if it were one more of them
            is_certain = found is not None and found.p_value() <= self.error / self.looks / (
                len(pairs) + 1
            )
        floor = self.floor(group, cache)
        return Comparison(ratio, verdict(ratio, is_certain, floor, self.same_within))

    @_once
    def log_speedup(self, case: str, against: str, cache: str = "cold") -> Estimate | None:
        """The logarithm of how many times faster `case` is, round by round; None with too few."""
        hidden = math.hypot(self._hidden(case, cache), self._hidden(against, cache))
        return speedup(*self.paired(against, case, cache), hidden, self._in_doubt(cache))

    def paired(self, against: str, case: str, cache: str) -> tuple[Times, Times]:
        """Both cases' times, each batch of the one beside each batch of the other in its round.

        A baseline has two batches, so a round has two ratios to it, and a median over them bears
        more disturbed batches than one over ratios to the two batches' mean.
        """
        base, own = dict[Key, float](), dict[Key, float]()
        for which in product((False, True), repeat=2):
            ones, others = self.times(against, cache, which[0]), self.times(case, cache, which[1])
            for key in ones.keys() & others.keys():
                base[key + which], own[key + which] = ones[key], others[key]
        return base, own

    def family(self, group: Group, cache: str = "cold") -> list[tuple[str, str]]:
        """Every comparison that the pages make in a group: (case, against).

        Each case with the baseline; what is shown of each variant with what it builds on, with the
        fastest, and with its own slowest shape.
        """
        cases = [p for p in self.groups[group] if self._outcomes[p.case].status == "ok"]
        pairs: dict[tuple[str, str], None] = {}
        for p in cases:
            baseline = self.baseline_of(p.case)
            if baseline and baseline != p.case:
                pairs[p.case, baseline] = None
        shown = self.shown(group, cache)
        leader = self.leader(group, cache)
        for p in shown:
            before = self.builds_on(p)
            for other in (before, leader, self.slowest(group, p.variant, cache)):
                if other and other.case != p.case:
                    pairs[p.case, other.case] = None
        return list(pairs)

    def shown(self, group: Group, cache: str = "cold") -> list[Planned]:
        """Each variant at the launch shape that it is shown at, in the matrix's order."""
        variants = dict.fromkeys(p.variant for p in self.groups[group])
        found = (self.shape(group, variant, cache) for variant in variants)
        return [p for p in found if p]

    def leader(self, group: Group, cache: str = "cold") -> Planned | None:
        """The fastest variant of ours, by the figures."""
        timed = [
            (found.value, i, p)
            for i, p in enumerate(self.shown(group, cache))
            if not p.is_library and (found := self.time(p.case, cache))
        ]
        return min(timed)[2] if timed else None

    @_once
    def _certain(
        self, group: Group, cache: str
    ) -> tuple[list[tuple[str, str]], set[tuple[str, str]]] | None:
        """A group's family, and which of it differ for certain; None where nothing is timed."""
        pairs = self.family(group, cache)
        found = {pair: self.log_speedup(*pair, cache) for pair in pairs}
        p_values = {pair: e.p_value() for pair, e in found.items() if e}
        return (pairs, certain(p_values, self.error / self.looks)) if pairs else None

    # How much two runs of the same kernel differ

    @_once
    def repeats(self, group: Group, cache: str) -> list[Estimate]:
        """The baseline's second batches over its first, at each launch shape: truly 1."""
        found = (
            speedup(
                self.times(p.case, cache),
                self.times(p.case, cache, repeat=True),
                self._hidden(p.case, cache),
            )
            for p in self.groups[group]
            if p.is_baseline
        )
        return [each for each in found if each]

    def noise(self, group: Group, cache: str) -> float:
        """By how much two runs of the same kernel may differ; 0.003 is 0.3 %.

        What the intervals of A/A do not exclude; infinite where there are none.
        """
        intervals = [each.interval(self.confidence) for each in self.repeats(group, cache)]
        return max((max(i.high, 1 / i.low) - 1 for i in intervals), default=math.inf)

    def floor(self, group: Group, cache: str) -> float:
        """What a difference must exceed: 0, unless A/A shows equal kernels to differ."""
        found = self.repeats(group, cache)
        real = certain({i: e.p_value() for i, e in enumerate(found)}, self.error / self.looks)
        intervals = [found[i].interval(self.confidence) for i in range(len(found)) if i in real]
        return max((max(i.high, 1 / i.low) - 1 for i in intervals), default=0.0)

    def is_settled(self, case: str, cache: str, target: float) -> bool:
        """Whether more placements would tell nothing new about the case.

        Its interval is narrower than the target, and what it means is certain.
        """
        baseline = self.baseline_of(case)
        if baseline is None or baseline == case:
            return True
        found = self.log_speedup(case, baseline, cache)
        if found is None:
            return False
        interval = found.interval(self.confidence)
        # More placements do not make what is taken off for the events any less doubtful.
        narrowed = replace(found, bias=0.0).interval(self.confidence)
        if math.sqrt(narrowed.high / narrowed.low) - 1 > target:
            return False
        told_apart = self.compare(case, baseline, cache).verdict in ("faster", "slower")
        return told_apart or interval.low <= 1 <= interval.high
