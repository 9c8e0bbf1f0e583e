"""Explain why one case is faster than another: which quantities changed, and whether they account
for the difference in time.

A step compares a variant with the one it builds on, each at the launch shape at which the report
shows it, so the speed-up is the one reported everywhere else. If the two shapes differ, the step
records that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.analysis.causes import rules
from harness.analysis.causes.time_spent import Spent, spent
from harness.analysis.finders import evaluate
from harness.analysis.peaks import peaks_of
from harness.analysis.readings import Answer, Missing, Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES, Quantity
from harness.statistics import builds_on
from harness.statistics.net_times import Group
from harness.statistics.timings import Comparison
from harness.tables import Run

NOTABLE = 0.05
"""A quantity that changed by less than this fraction is not among the largest changes."""
_APPEARED = 10.0
"""The factor that stands for a change from or to zero when changes are ranked."""


@dataclass(frozen=True)
class Change:
    """One quantity before and after."""

    quantity: Quantity
    before: Answer
    after: Answer

    @property
    def pair(self) -> tuple[float, float] | None:
        """Both values, if both exist and were counted in the same way."""
        b, a = self.before, self.after
        if isinstance(b, Missing) or isinstance(a, Missing):
            return None
        alike = (b.provenance, b.counted_at) == (a.provenance, a.counted_at)
        return (b.value, a.value) if alike else None

    @property
    def judges(self) -> bool:
        """Return whether the change can support a cause: it was neither modelled nor counted in
        PTX."""
        return self.pair is not None and isinstance(self.before, Reading) and self.before.judges

    @property
    def counted(self) -> bool:
        """Return whether the change can support a cause and was counted, rather than derived from
        compiler output or the launch.
        """
        b = self.before
        return self.judges and isinstance(b, Reading) and b.provenance != "measured"

    @property
    def matters(self) -> bool:
        """Return whether the absolute change is large enough on the quantity's own scale."""
        return self.pair is not None and abs(self.pair[1] - self.pair[0]) >= self.quantity.least

    @property
    def moved(self) -> float:
        """The absolute value of the logarithm of the two values' ratio; 0 if unknown."""
        if self.pair is None or self.pair[0] == self.pair[1]:
            return 0.0
        before, after = self.pair
        if before <= 0 or after <= 0:
            return math.log(_APPEARED)
        return abs(math.log(after / before))


@dataclass(frozen=True)
class Cause:
    """A property of the faster case: `quantity` is the key of the quantity that shows it, `ideas`
    the ideas in harness/cases.py that it supports.
    """

    text: str
    quantity: str
    ideas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """The counters' evidence for the cause.

    `verdict`: supported, unexplained, nothing (no difference to explain), uncounted, untimed, or
    identical (the same machine code, launched in the same way). If the same code is launched
    differently, only GPU occupancy can be a cause. `causes`: the causes whose rules hold, the main
    one first; in an untimed step, the losses that the later case avoids. `other_way`: what the
    slower case does better; in an untimed step, what the earlier case does better. Only a timed run
    can tell which of these changes matters.
    """

    verdict: str
    causes: Sequence[Cause] = ()
    other_way: Sequence[Cause] = ()
    shown: frozenset[str] = frozenset()
    """The ideas that could have been found, given the quantities that are known."""


@dataclass(frozen=True)
class LadderStep:
    """Two cases, the earlier and the later, and the changes between them."""

    before: Planned
    after: Planned
    speed: Comparison | None
    """The speed-up of the later case; None if nothing was timed."""
    changes: Sequence[Change]
    finding: Finding
    identical: bool
    """True if both cases run the same machine code."""
    moved: Sequence[Change]
    """The largest changes, the causes' quantities first."""
    spent: tuple[Spent | None, Spent | None] = (None, None)
    """The breakdown of each case's time."""

    @property
    def same_shape(self) -> bool:
        return self.before.launch == self.after.launch

    @property
    def idea(self) -> str:
        """The idea that the later case states, if it builds on the other; empty for any other
        step."""
        return self.after.idea if self.before.variant == self.after.builds_on else ""

    @property
    def agrees(self) -> str:
        """Relate the causes to the later case's stated idea.

        yes: the idea is one of the causes of the speed-up or, for a trap, of the slowdown. no: the
        cause is something else. For a variant that is slower, or a trap that is faster: outweighed,
        if the stated quantity improved but something else cost more; no gain, if the quantity did
        not improve; against, if the idea caused the slowdown. Empty if no idea was stated, no cause
        was found, or no counter could show the idea.
        """
        idea, finding = self.idea, self.finding
        if idea in ("", "none") or not finding.causes or idea not in finding.shown:
            return ""
        among = _bears_out(idea, finding.causes)
        gained = self.speed is None or self.speed.verdict == "faster"
        if gained != self.after.is_trap:
            return "yes" if among else "no"
        if among:
            return "against"
        return "outweighed" if _bears_out(idea, finding.other_way) else "no gain"

    def change(self, quantity: str) -> Change | None:
        return next((c for c in self.changes if c.quantity.key == quantity), None)


class Explainer:
    """Explains the steps of a run; the machine's peak rates are computed once."""

    def __init__(self, readings: Readings) -> None:
        self.readings, self.run = readings, readings.run
        self._peaks = peaks_of(self.run)

    def compare(self, before: Planned, after: Planned) -> LadderStep:
        """The step from one case to another of the same problem and sizes."""
        run = self.run
        speed = run.compare(after.case, before.case) if run.is_timed else None
        changes = [
            Change(q, *(evaluate(q.key, self.readings, p) for p in (before, after)))
            for q in QUANTITIES.values()
        ]
        same = identical(run, before, after)
        both = (spent(self.readings, before, self._peaks), spent(self.readings, after, self._peaks))
        finding = self._finding(before, after, speed, changes, same, both)
        shown = [c for c in changes if speed is None or c.quantity.key != "launches"]
        return LadderStep(
            before, after, speed, changes, finding, same,
            most_moved(shown, [cause.quantity for cause in finding.causes]), both,
        )  # fmt: skip

    def steps(self, group: Group) -> list[LadderStep]:
        """Each variant of a group paired with the one that it builds on, in the matrix's order."""
        timings = self.run.timings
        own = [p for p in timings.shown(group) if not p.is_library]
        pairs = [(builds_on.parent(p, timings.shape), p) for p in own]
        return [
            self.compare(before, after)
            for before, after in pairs
            if before and self._usable(before) and self._usable(after)
        ]

    def shapes(self, group: Group) -> list[LadderStep]:
        """Compare each variant's slowest launch shape with its best, if they can be told apart."""
        timings = self.run.timings
        found = []
        for p in timings.shown(group) if self.run.is_timed else ():
            slowest = None if p.is_library else timings.slowest(group, p.variant)
            if slowest is None or slowest.case == p.case:
                continue
            step = self.compare(slowest, p)
            if step.speed and step.speed.verdict == "faster":
                found.append(step)
        return found

    def _usable(self, p: Planned) -> bool:
        """Return whether the case was timed with an interval or, in a run without times,
        counted."""
        if self.run.is_timed:
            return self.run.time(p.case) is not None
        return p.case in self.readings.counted

    def _finding(
        self,
        before: Planned,
        after: Planned,
        speed: Comparison | None,
        changes: Sequence[Change],
        same: bool,
        both: tuple[Spent | None, Spent | None],
    ) -> Finding:
        judged = {c.quantity.key: c.pair for c in changes if c.pair is not None and c.judges}
        if speed is None:
            return untimed(judged)
        if speed.ratio is None or speed.verdict not in {"faster", "slower"}:
            return Finding("nothing")
        if same and _launched_alike(self.run, before, after):
            return Finding("identical")
        faster = speed.verdict == "faster"
        slow, fast = (before, after) if faster else (after, before)
        pairs = {key: rules.Pair(*(pair if faster else pair[::-1])) for key, pair in judged.items()}
        factor = speed.ratio.value if faster else 1 / speed.ratio.value
        saving = self._saving(factor, slow, fast, *(both if faster else both[::-1]))
        held = rules.causes(pairs, saving, rules.FILL if same else rules.RULES)
        found = self._launches(slow, fast) + _named(held)
        other_way = _named(rules.relieved({key: pair.turned for key, pair in pairs.items()}))
        if found:
            shown = rules.shown(pairs) | ({"launches"} if slow.kernels and fast.kernels else set())
            return Finding("supported", found, other_way, shown)
        counted = any(c.counted for c in changes)
        return Finding("unexplained" if counted else "uncounted")

    def _saving(
        self, factor: float, slow: Planned, fast: Planned, was: Spent | None, now: Spent | None
    ) -> rules.Saving:
        waits = {}
        if was and now and was.waits and now.waits:
            waits = {name: rules.Pair(ns, now.waits[name]) for name, ns in was.waits.items()}
        at_roof = bool(was and now and was.held_by_memory(now))
        return rules.Saving(factor, self._saved(slow, fast), self._peaks, waits, at_roof)

    def _saved(self, slow: Planned, fast: Planned) -> float:
        """The time saved in ns."""
        times = [self.run.time(p.case) for p in (slow, fast)]
        return times[0].value - times[1].value if times[0] and times[1] else math.inf

    def _launches(self, slow: Planned, fast: Planned) -> list[Cause]:
        """Blame the extra launches, or the time in all launches but the longest, if removing that
        cost explains the time saved; otherwise return an empty list."""
        if not slow.kernels or not fast.kernels:
            return []  # the kernels of a Python or host function are unknown
        steps, fewer = (self.run.timings.step_times(p.case, "cold") for p in (slow, fast))
        lost = len(slow.kernels) - len(fast.kernels)
        if lost < 0 or len(steps) < 2:
            return []
        if lost:
            cost = sum(sorted(steps)[:lost])
            words = "one launch fewer" if lost == 1 else f"{lost} launches fewer"
        else:
            cost = sum(sorted(steps)[:-1]) - sum(sorted(fewer)[:-1])
            words = "less time in the launches beside the longest"
        saved = self._saved(slow, fast)
        low, high = rules.LAUNCH_SHARE
        return (
            [Cause(words, "launches", ("launches",))] if low * cost <= saved <= high * cost else []
        )


def untimed(judged: Mapping[str, tuple[float, float]]) -> Finding:
    """Find the quantities that are smaller in the later case, and those that are larger.

    `judged`: exact counts before and after, by quantity, from ncu or the emulator.
    """
    pairs = {key: rules.Pair(*pair) for key, pair in judged.items()}
    turned = {key: pair.turned for key, pair in pairs.items()}
    relieved, in_return = (_named(rules.relieved(each)) for each in (pairs, turned))
    return Finding("untimed", relieved, in_return, rules.shown(pairs))


def _bears_out(idea: str, causes: Sequence[Cause]) -> bool:
    return any(idea in cause.ideas for cause in causes)


def _named(held: Sequence[rules.Rule]) -> list[Cause]:
    return [Cause(rule.cause, rule.quantity, rule.ideas) for rule in held]


def most_moved(changes: Sequence[Change], causes: Sequence[str], most: int = 3) -> list[Change]:
    """The largest changes, at most one per family: causes first, then values reliable enough to
    decide a verdict, then the rest.

    Changes that merely follow from the time are left out, and so are negligible ones.
    """
    able = [c for c in changes if c.quantity.kind != "consequence" and c.matters]
    rank: Mapping[str, int] = {key: i - len(causes) for i, key in enumerate(causes)}
    ranked = sorted(able, key=lambda c: (rank.get(c.quantity.key, 0), not c.judges, -c.moved))
    found: list[Change] = []
    families: set[str] = set()
    for change in ranked:
        family = change.quantity.family or change.quantity.key
        if change.moved > math.log(1 + NOTABLE) and family not in families:
            families.add(family)
            found.append(change)
    return found[:most]


def identical(run: Run, before: Planned, after: Planned) -> bool:
    """Return whether both cases run the same machine code, kernel by kernel.

    This compares the hash of each kernel's machine code if the journal has one, else that of the
    whole compiled file. The hash of a file depends on the file's name, so it may miss a match, but
    never finds a false one.
    """
    pairs = []
    for p in (before, after):
        made = run.compiled.get(p.case, [])
        pairs.append([(c.kernel, c.sass_sha256 or c.cubin_sha256) for c in made])
    return bool(pairs[0]) and pairs[0] == pairs[1]


def _launched_alike(run: Run, before: Planned, after: Planned) -> bool:
    """Return whether the launches also fill the GPU in the same way."""
    both = [
        [(c.threads_per_block, c.shared_bytes, c.waves) for c in run.compiled.get(p.case, [])]
        for p in (before, after)
    ]
    return both[0] == both[1]
