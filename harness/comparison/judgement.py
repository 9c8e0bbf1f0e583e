"""The verdict on two runs: every change, what was checked, and whether a gate opens.

Exit code 0: nothing is slower, newly faulty or worse. 1: something is. 3: undecided, for one of
these reasons: the runs are from different machines or have too little in common, a case was not run
again, something changed and was not compared exactly, a variant is verified at fewer sizes, or a
slowdown of the size to be detected has not been ruled out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.analysis.readings import Readings
from harness.comparison import changes, identity, times, uncompared, verified_sizes
from harness.comparison.changes import Change
from harness.comparison.machines import Setting, setting
from harness.comparison.pairs import Pair, between, suffix_of, within
from harness.comparison.run_level import FEWEST_WITNESSES
from harness.comparison.times import Looked
from harness.tables import Run

FINE, CLOSED, UNTOLD = 0, 1, 3
"""Exit codes; 2 means a mistake on the command line."""

MIN_EFFECT = 0.02
"""The slowdown, as a fraction of the time, that a comparison must find or rule out."""

ENOUGH = 0.5
"""The share of the base's sound cases that must be compared; with fewer, the verdict is "cannot
tell"."""


@dataclass(frozen=True)
class Judgement:
    """`changes`: most important first. `withheld`: why no times are compared; empty if they are."""

    base: Run
    new: Run
    changes: Sequence[Change]
    setting: Setting
    looked: Looked
    in_rounds: bool
    """True if one run has both sides, interleaved."""
    relative: bool
    """True if times are compared as ratios to each run's own baseline."""
    withheld: str
    untold: Sequence[str]
    """The reasons why the comparison is inconclusive; empty if it is conclusive."""
    untold_cases: Mapping[str, str] = field(default_factory=dict)
    """Changed cases that were not compared exactly, by name, and why."""
    min_effect: float = MIN_EFFECT

    @property
    def is_timed(self) -> bool:
        return self.base.is_timed and self.new.is_timed

    @property
    def code(self) -> int:
        if any(change.closes for change in self.changes):
            return CLOSED
        return UNTOLD if self.untold else FINE

    @property
    def counts(self) -> Counter[str]:
        """The number of cases of each kind."""
        return Counter(change.kind for change in self.changes)

    @property
    def compared(self) -> list[Change]:
        """The cases that both sides ran and that could be compared."""
        return [change for change in self.changes if change.kind not in changes.APART]


def judge(
    base: Run, new: Run, *, across_machines: bool = False, min_effect: float = MIN_EFFECT
) -> Judgement:
    """Compare two runs. If one run has both sides, interleaved, pass it twice.

    `min_effect`: the slowdown, as a fraction of the time, that must be found or ruled out.
    """
    in_rounds = base is new and bool(suffix_of(new))
    pairs = within(new) if in_rounds else between(base, new)
    around = Setting() if in_rounds else setting(base, new)
    both_timed = base.is_timed and new.is_timed
    relative = bool(around.machine) and across_machines and both_timed
    withheld = _withheld(around, across_machines) if both_timed else ""
    codes = {i: identity.same_code(p.base, p.new) for i, p in enumerate(pairs) if p.base and p.new}
    if around.machine:  # code on another machine is not identical
        codes = dict.fromkeys(codes, "unknown")
    identical = frozenset(i for i, code in codes.items() if code == "identical")
    found, looked = times.changes(
        pairs, identical, in_rounds=in_rounds, relative=relative, why=withheld,
        min_effect=min_effect,
    )  # fmt: skip
    readings = Readings(base), Readings(new)
    comparable = not around.machine and not around.method
    told = [
        changes.change(
            pair, pair.base, pair.new, found.get(i, []), readings, codes[i],
            comparable=comparable, both_timed=both_timed,
        )
        if pair.base and pair.new
        else changes.one_sided(pair)
        for i, pair in enumerate(pairs)
    ]  # fmt: skip
    told.sort(key=lambda change: change.weight)
    cases = uncompared.cases(told, readings, both_timed) if comparable else {}
    untold = [
        *_untold(pairs, told, around, across_machines and both_timed, in_rounds),
        *(_not_compared(new, told, cases, readings[1], in_rounds) if comparable else ()),
        *verified_sizes.missing(told, _name_of_base(new, in_rounds)),
        *_moved_as_a_whole(looked, min_effect),
        *_not_excluded(told, min_effect),
    ]
    return Judgement(
        base, new, told, around, looked, in_rounds, relative, withheld, untold, cases, min_effect
    )


def _withheld(around: Setting, across_machines: bool) -> str:
    """The reason why the times of the two runs cannot be compared."""
    if around.method:
        return "; ".join(f"{d.what}: {d.base} then, {d.new} now" for d in around.method)
    if around.machine and not across_machines:
        return "different machines"
    return ""


def _untold(
    pairs: Sequence[Pair], told: Iterable[Change], around: Setting, across: bool, in_rounds: bool
) -> Iterable[str]:
    for d in around.method:
        yield f"the runs are of two kinds: {d.what} {d.base} then, {d.new} now"
    if around.machine and not across:
        for d in around.machine:
            yield f"the machines differ: {d.what} {d.base} then, {d.new} now"
    told = list(told)
    both = [pair for pair in pairs if pair.base and pair.new]
    if not both and not in_rounds:  # if both sides ran, a new case has no counterpart
        yield "the two have no case in common"
        return
    lost = [change for change in told if change.kind == "no longer run"]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield f"no longer run: {lost[0].name}{more}: {lost[0].faults[1]}"
    sound = [p.base for p in pairs if p.base and p.base.run.outcomes[p.base.case].status == "ok"]
    compared = [change for change in told if change.kind not in changes.APART]
    if len(compared) < ENOUGH * len(sound):
        apart = Counter(t.reason for change in told for t in change.times if t.reason)
        why = f": {apart.most_common(1)[0][0]}" if apart else ""
        yield f"only {len(compared)} of the base's {len(sound)} sound cases could be compared{why}"


def _not_compared(
    new: Run, told: Sequence[Change], cases: Mapping[str, str], readings: Readings, in_rounds: bool
) -> Iterable[str]:
    """Find changes that were not compared exactly, and budgets that nothing checked."""
    beside = new.info.get("beside") or {}
    if in_rounds:
        yield from map(str, beside.get("not_compared") or ())
        yield from uncompared.gone(told, _name_of_base(new, in_rounds))
    yield from uncompared.traded(told)
    yield from uncompared.changed(told, cases)
    yield from uncompared.budgets_of(new, readings)


def _name_of_base(new: Run, in_rounds: bool) -> str:
    beside = new.info.get("beside") or {}
    return str((in_rounds and beside.get("base")) or "the base")


def _moved_as_a_whole(looked: Looked, min_effect: float) -> Iterator[str]:
    """Report sizes at which most kernels changed by the same factor, but no unchanged code shows
    whether the machine changed.
    """
    for (group, cache), level in looked.levels.items():
        if not level.witnesses and abs(math.expm1(level.moved)) > min_effect:
            longer = "longer" if level.moved > 0 else "less"
            yield (
                f"most of {' '.join(group)}, {cache}, takes {abs(math.expm1(level.moved)):.1%} "
                f"{longer}, and fewer than {FEWEST_WITNESSES} cases of unchanged code are among it "
                "to tell the kernels from the machine"
            )


def _not_excluded(told: Sequence[Change], min_effect: float) -> Iterator[str]:
    """Cases in which a slowdown of the size to be detected is neither certain nor ruled out."""
    hiding = [change for change in told if change.hides > min_effect]
    if hiding:
        worst = max(hiding, key=lambda change: change.hides)
        timed = sum(change.is_judged_by_time for change in told)
        yield (
            f"{min_effect:.1%} longer is not excluded in {len(hiding)} of {timed} cases, "
            f"up to {worst.hides:.1%} in {worst.name}; more placements, or both sides in one run, "
            "may tell"
        )
