"""Counted results in sentences, for the terminal and the pages of a run without times."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.causes.why import Change
from harness.analysis.counted import Counts, Rung
from harness.analysis.ladder import short_names
from harness.report.tables.cells import show
from harness.tables import Run

NOT_COUNTED = "not counted"
MOST = 2
"""The maximum number of losses of one variant, or of variants with losses, that a sentence
names."""
ALIKE = "its variants are equal in all that was counted exactly"


def sentences(found: Counts) -> Iterator[str]:
    """A sentence per variant that has losses or builds on another: its worst source line, and the
    largest change."""
    told = False
    for rung in found.rungs:
        lost = "; ".join(map(str, rung.losses[:MOST]))
        step = changed(found, rung)
        if lost or step:
            told = True
            yield (
                f"{rung.short}: {lost}; {step}"
                if lost and step
                else (f"{rung.short}: {lost}" if lost else f"{rung.short} {step}")
            )
    if not told:
        yield nothing(found)


def not_counted(run: Run, problem: str, dtype: str) -> str:
    """Say that nothing was counted, with the first reason; failures are reported elsewhere."""
    failed = False
    for p in run.planned.values():
        outcome = run.outcomes[p.case]
        if (p.problem, p.dtype) != (problem, dtype) or p.is_library or not outcome.reason:
            continue
        if outcome.status != "failed":
            reason = outcome.reason.splitlines()[0].rpartition(f"{NOT_COUNTED}: ")[2]
            return f"{NOT_COUNTED}: {reason}"
        failed = True
    return f"{NOT_COUNTED}: its variants failed" if failed else NOT_COUNTED


def nothing(found: Counts) -> str:
    """Say so if no variant has a loss worth reporting, and no step changed anything."""
    vague = [rung.short for rung in found.rungs if not found.is_exact(rung)]
    if vague:
        verb = "was" if len(vague) == 1 else "were"
        return f"{', '.join(vague)} {verb} not counted exactly, and nothing else is lost"
    return ALIKE if len(found.rungs) > 1 else "nothing that was counted exactly is lost"


def in_brief(found: Counts) -> str:
    """Name the greatest losses or, if there are none, the largest change; failing that, say that
    the variants are equal."""
    if losing := found.losing:
        return "; ".join(f"{rung.short}: {rung.losses[0]}" for rung in losing[:MOST])
    step = largest_change(found)
    return step or nothing(found)


def largest_change(found: Counts) -> str:
    """`v2 over v1: shared-memory wavefronts over the ideal fell from 16.5× to 1.00×`."""
    rung = found.largest_change
    return f"{rung.short} {changed(found, rung)}" if rung else ""


def changed(found: Counts, rung: Rung) -> str:
    """The largest change in the step to a variant: `over v1: … fell from 16.5× to 1.00×`; empty if
    there is none."""
    if rung.step is None or rung.changed is None:
        return ""
    before = rung.step.before.variant
    shorts = {each.planned.variant: each.short for each in found.rungs}
    return f"over {shorts.get(before) or short_names([before])[before]}: {moved(rung.changed)}"


def moved(change: Change) -> str:
    assert change.pair is not None
    before, after = change.pair
    quantity = change.quantity
    verb = "rose" if after > before else "fell"
    return f"{quantity.words} {verb} from {show(quantity, before)} to {show(quantity, after)}"
