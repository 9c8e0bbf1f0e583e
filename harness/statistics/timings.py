"""Results from a run's rounds: times, comparisons, and the launch shape shown for each variant.

The first placements of a group are used only to select the launch shapes, and every figure comes
from the others. The best of several noisy figures is biased unless the reported figure comes from
data that played no part in the selection. All comparisons on a group's page form one family, and
"faster" and "slower" are reported so that at most one family in twenty has a false one (at a
confidence of 95 %).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from statistics import median

from harness.journal.records import Planned
from harness.statistics import builds_on
from harness.statistics.intervals import (
    Estimate,
    Interval,
    Key,
    Times,
    Verdict,
    certain,
    over_placements,
    speedup,
    verdict,
)
from harness.statistics.net_times import Group, NetTimes, group_of, once


@dataclass(frozen=True)
class Comparison:
    """The comparison of one case with another at the same sizes, round by round."""

    ratio: Interval | None
    """The speed-up, with its interval."""
    verdict: Verdict


class Timings(NetTimes):
    """The net times of a run, ready to be compared."""

    @once
    def shape(self, group: Group, variant: str, cache: str = "cold") -> Planned | None:
        """The valid case that represents a variant: its fastest launch shape in the placements used
        for selection.

        Without times, the first valid case; None if no case is valid.
        """
        own = [p for p in self.groups[group] if p.variant == variant]
        return next(iter(self.fastest(own, cache)), None)

    def fastest(self, cases: Iterable[Planned], cache: str = "cold") -> list[Planned]:
        """Each variant's fastest valid case among those given, as timed in the placements used for
        selection.
        """
        best: dict[str, tuple[float, Planned]] = {}
        for p in cases:
            if self._outcomes[p.case].status == "ok":
                cost = self._cost(p.case, cache)
                if p.variant not in best or cost < best[p.variant][0]:
                    best[p.variant] = cost, p
        return [p for _, p in best.values()]

    def slowest(self, group: Group, variant: str, cache: str = "cold") -> Planned | None:
        """A variant's slowest valid case, in the placements used for selection."""
        sound = (p for p in self.groups[group] if self._outcomes[p.case].status == "ok")
        own = [p for p in sound if p.variant == variant]
        return max(own, key=lambda p: self._cost(p.case, cache), default=None)

    @once
    def _cost(self, case: str, cache: str) -> float:
        """The time, in ns, by which a launch shape is selected. It comes from the placements used
        for selection, or from all placements if there are none."""
        both = (self._times(case, cache, False, for_choice) for for_choice in (True, False))
        times = next((each for each in both if each), None)
        return median(over_placements(times)) if times else math.inf

    @once
    def baseline_of(self, case: str) -> str | None:
        """The case to compare with: the baseline at the launch shape at which it is shown.

        All cases of the group are compared with the same case, so that speed-ups are in proportion
        to the times shown with them. A failed baseline cannot be used for comparison; `substitute`
        names its replacement.
        """
        group = group_of(self._planned[case])
        variant = self.reference(group)
        found = self.shape(group, variant) if variant else None
        return found.case if found else None

    def reference(self, group: Group) -> str | None:
        """The variant that speed-ups refer to: the baseline or, if it failed, the first valid
        variant."""
        cases = self.groups[group]
        sound = [p for p in cases if self._outcomes[p.case].status == "ok" and not p.is_library]
        ordered = sorted(sound, key=lambda p: not p.is_baseline)
        return ordered[0].variant if ordered else None

    def substitute(self, group: Group) -> str | None:
        """The variant that stands in for the baseline when none of the baseline's cases is valid;
        otherwise None.
        """
        found = self.reference(group)
        baseline = next((p.variant for p in self.groups[group] if p.is_baseline), None)
        return found if found != baseline else None

    # What is compared

    def compare(self, case: str, against: str, cache: str = "cold") -> Comparison:
        """Return how many times faster `case` is than `against`; they share problem and sizes."""
        found = self.log_speedup(case, against, cache)
        ratio = found.interval(self.confidence) if found else None
        group = group_of(self._planned[case])
        family = self._certain(group, cache)
        if family is None:
            return Comparison(ratio, "invalid")
        pairs, real = family
        if (case, against) in pairs or (against, case) in pairs:
            is_certain = (case, against) in real or (against, case) in real
        else:  # not one of the page's comparisons: treated as an additional one
            is_certain = found is not None and found.p_value() <= self.error / self.looks / (
                len(pairs) + 1
            )
        floor = self.floor(group, cache)
        return Comparison(ratio, verdict(ratio, is_certain, floor, self.same_within))

    @once
    def log_speedup(self, case: str, against: str, cache: str = "cold") -> Estimate | None:
        """The logarithm of the speed-up of `case`, round by round; None with too few rounds."""
        hidden = math.hypot(self._hidden(case, cache), self._hidden(against, cache))
        return speedup(*self.paired(against, case, cache), hidden, self._in_doubt(cache))

    def paired(self, against: str, case: str, cache: str) -> tuple[Times, Times]:
        """Both cases' times, with each batch of one paired with each batch of the other in the same
        round.

        A baseline has two batches per round, so a round has two ratios to it. The median of both
        ratios of all rounds tolerates more disturbed batches than the median of the ratios to the
        mean of the two batches.
        """
        base, own = dict[Key, float](), dict[Key, float]()
        for which in product((False, True), repeat=2):
            ones, others = self.times(against, cache, which[0]), self.times(case, cache, which[1])
            for key in ones.keys() & others.keys():
                base[key + which], own[key + which] = ones[key], others[key]
        return base, own

    def family(self, group: Group, cache: str = "cold") -> list[tuple[str, str]]:
        """Every comparison that the pages make in a group: (case, against).

        Each case is compared with the baseline. Each variant, at the launch shape at which it is
        shown, is compared with the one that it builds on, with the fastest, and with its own
        slowest shape.
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
            before = builds_on.parent(p, self.shape)
            for other in (before, leader, self.slowest(group, p.variant, cache)):
                if other and other.case != p.case:
                    pairs[p.case, other.case] = None
        return list(pairs)

    @once
    def shown(self, group: Group, cache: str = "cold") -> list[Planned]:
        """Each variant at the launch shape at which it is shown, in the matrix's order."""
        variants = dict.fromkeys(p.variant for p in self.groups[group])
        found = (self.shape(group, variant, cache) for variant in variants)
        return [p for p in found if p]

    def leader(self, group: Group, cache: str = "cold") -> Planned | None:
        """The fastest of the problem's own variants, excluding libraries."""
        timed = [
            (found.value, i, p)
            for i, p in enumerate(self.shown(group, cache))
            if not p.is_library and (found := self.time(p.case, cache))
        ]
        return min(timed)[2] if timed else None

    @once
    def _certain(
        self, group: Group, cache: str
    ) -> tuple[list[tuple[str, str]], set[tuple[str, str]]] | None:
        """A group's family, and its certain differences; None if nothing is timed."""
        pairs = self.family(group, cache)
        found = {pair: self.log_speedup(*pair, cache) for pair in pairs}
        p_values = {pair: e.p_value() for pair, e in found.items() if e}
        return (pairs, certain(p_values, self.error / self.looks)) if pairs else None

    # How much two runs of the same kernel differ

    @once
    def repeats(self, group: Group, cache: str) -> list[Estimate]:
        """The speed-up of the baseline's second batches over its first ones, at each launch shape;
        the true speed-up is 1."""
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
        """How much two runs of the same kernel may differ; 0.003 is 0.3 %.

        This is the largest difference that the A/A intervals do not exclude; infinite without A/A
        intervals.
        """
        intervals = [each.interval(self.confidence) for each in self.repeats(group, cache)]
        return max((max(i.high, 1 / i.low) - 1 for i in intervals), default=math.inf)

    @once
    def floor(self, group: Group, cache: str) -> float:
        """The smallest difference that is treated as real: 0, unless A/A intervals show that equal
        kernels differ."""
        found = self.repeats(group, cache)
        real = certain({i: e.p_value() for i, e in enumerate(found)}, self.error / self.looks)
        intervals = [found[i].interval(self.confidence) for i in range(len(found)) if i in real]
        return max((max(i.high, 1 / i.low) - 1 for i in intervals), default=0.0)

    def is_settled(self, case: str, cache: str, target: float) -> bool:
        """Return whether more placements would add nothing new about the case.

        This is true if its interval is narrower than the target and its verdict is certain.
        """
        baseline = self.baseline_of(case)
        if baseline is None or baseline == case:
            return True
        found = self.log_speedup(case, baseline, cache)
        if found is None:
            return False
        interval = found.interval(self.confidence)
        # More placements do not reduce the uncertainty of the events' cost.
        narrowed = replace(found, bias=0.0).interval(self.confidence)
        if math.sqrt(narrowed.high / narrowed.low) - 1 > target:
            return False
        is_clear = self.compare(case, baseline, cache).verdict in ("faster", "slower", "same")
        return is_clear or interval.low <= 1 <= interval.high
