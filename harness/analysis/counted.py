"""The ladder of a run without times: each variant's counters and total losses.

Like a timed ladder, it holds every variant of a problem, type and size at the launch shape at which
it is shown, with its losses and the step from the variant that it builds on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.causes.why import Change, Explainer, LadderStep
from harness.analysis.finders import evaluate
from harness.analysis.ladder import OneGroup, short_names
from harness.analysis.losses import Loss, losses
from harness.analysis.readings import Answer, Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES, Quantity
from harness.statistics.net_times import Group

TELLING = (
    "wavefronts-over-ideal", "sectors-over-compulsory", "acting-threads", "global-atomics",
    "spills", "wave-fill", "instructions-per-kib", "theoretical-occupancy", "launches",
)  # fmt: skip
"""The quantities that may distinguish variants, those that point to a mistake first."""
MOST_TELLING = 4
FULL = 0.9
"""Waves are regarded as full if at least this share of the block slots is in use."""
NOTABLE = 1.05
"""The factor by which variants must differ in a quantity for it to distinguish them."""


@dataclass(frozen=True)
class Rung:
    """One variant at the launch shape at which it is shown."""

    planned: Planned
    short: str
    losses: Sequence[Loss]
    """The losses, the greatest first."""
    step: LadderStep | None
    """The step from the variant that this one builds on, if that was also counted."""

    @property
    def changes(self) -> list[Change]:
        """The quantities in TELLING that changed in the step and were counted exactly enough to
        decide a verdict; the largest change first."""
        found = [
            change for change in (self.step.changes if self.step else ())
            if change.quantity.key in TELLING and change.judges
            and change.moved > math.log(NOTABLE)
        ]  # fmt: skip
        return sorted(found, key=lambda change: -change.moved)

    @property
    def changed(self) -> Change | None:
        return next(iter(self.changes), None)


@dataclass(frozen=True)
class Counts(OneGroup):
    """The counters of one problem, type and size."""

    rungs: Sequence[Rung]
    """The variants, in the matrix's order."""
    telling: Sequence[Quantity]
    """The quantities in which variants differ or have losses, limited to what fits in a table."""
    answers: dict[tuple[str, str], Answer]
    """Quantity and case → its value."""

    @property
    def losing(self) -> list[Rung]:
        """The variants with avoidable losses, largest losses first."""
        found = [rung for rung in self.rungs if rung.losses]
        return sorted(found, key=lambda rung: -rung.losses[0].share)

    @property
    def largest_change(self) -> Rung | None:
        """The variant whose step from its base changed a quantity most."""
        found = [(rung.changed.moved, rung) for rung in self.rungs if rung.changed]
        return max(found, key=lambda each: each[0])[1] if found else None

    def is_exact(self, rung: Rung) -> bool:
        """Return whether the case's instruction count is exact enough to judge by."""
        answer = self.answers["instructions-per-kib", rung.planned.case]
        return isinstance(answer, Reading) and answer.judges

    def of(self, quantity: Quantity, rung: Rung) -> Answer:
        return self.answers[quantity.key, rung.planned.case]


def counts(explainer: Explainer) -> list[Counts]:
    """The counts of every problem and type, the largest size first; empty for a run with times."""
    run = explainer.run
    groups = {} if run.is_timed else run.groups()
    found = []
    for pair in dict.fromkeys(key[:2] for key in groups):
        keys = [key for key in groups if key[:2] == pair]
        for key in sorted(keys, key=lambda key: -max(p.bytes for p in groups[key])):
            own = _counts(explainer, key, groups[key])
            found += [own] if own.rungs else []
    return found


def largest(found: Sequence[Counts], problem: str, dtype: str) -> Counts | None:
    """The counts of one problem and type, at the largest size that was counted."""
    return next((c for c in found if (c.problem, c.dtype) == (problem, dtype)), None)


def _counts(explainer: Explainer, key: Group, cases: Sequence[Planned]) -> Counts:
    readings = explainer.readings
    shorts = short_names(list(dict.fromkeys(p.variant for p in cases)))
    steps = {step.after.case: step for step in explainer.steps(key)}
    shown = [p for p in explainer.run.timings.shown(key) if p.case in readings.counted]
    rungs = [
        Rung(p, shorts[p.variant], losses(readings, p), steps.get(p.case))
        for p in shown if not p.is_library
    ]  # fmt: skip
    rungs = [_with_empty_slots(rung, rungs, readings) for rung in rungs]
    answers = {
        (name, rung.planned.case): evaluate(name, readings, rung.planned)
        for name in TELLING for rung in rungs
    }  # fmt: skip
    telling = [name for name in TELLING if _tells(name, rungs, answers)]
    return Counts(key, cases[0].sizes, rungs, [QUANTITIES[name] for name in telling[:MOST_TELLING]],
                  answers)  # fmt: skip


def _with_empty_slots(rung: Rung, rungs: Sequence[Rung], readings: Readings) -> Rung:
    """Add a loss to a variant whose last wave leaves many slots empty, unless this is true of all
    variants.

    If all variants have this loss, the size, which was chosen for quick counting, is its cause.
    """
    fills = {each.planned.case: _fill(readings, each.planned) for each in rungs}
    own = fills[rung.planned.case]
    if own >= FULL or max(fills.values()) < FULL:
        return rung
    text = f"its waves of blocks are {100 * own:.3g} % full"
    loss = Loss("wave-fill", text, own, 1 - own)
    found = sorted([loss, *rung.losses], key=lambda each: -each.share)
    return Rung(rung.planned, rung.short, found, rung.step)


def _fill(readings: Readings, p: Planned) -> float:
    answer = evaluate("wave-fill", readings, p)
    return answer.value if isinstance(answer, Reading) and answer.judges else 1.0


def _tells(name: str, rungs: Sequence[Rung], answers: dict[tuple[str, str], Answer]) -> bool:
    """Return whether variants differ in the quantity, or whether one has a loss of that kind."""
    if any(loss.quantity == name for rung in rungs for loss in rung.losses):
        return True
    found = [answers[name, rung.planned.case] for rung in rungs]
    values = [a.value for a in found if isinstance(a, Reading) and a.judges]
    return bool(values) and max(values) > NOTABLE * min(values)
