"""The first screen: a sentence a problem and size, which claims no more than was shown."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from harness.measure.timings import Comparison
from harness.records import Planned, Verified
from harness.report import format as fmt
from harness.report.anchors import case_anchor
from harness.report.ladder import Ladder, Rung
from harness.tables import Run


@dataclass(frozen=True)
class Story:
    """One problem and dtype: its sentence, then a line for each further size or remark."""

    problem: str
    dtype: str
    headline: Markup
    further: list[Markup]


def timed(ladders: list[Ladder]) -> list[Story]:
    """A story for each problem and dtype; the largest size is the headline."""
    stories: list[Story] = []
    for pair in dict.fromkeys((ladder.problem, ladder.dtype) for ladder in ladders):
        own = [ladder for ladder in ladders if (ladder.problem, ladder.dtype) == pair]
        lines = [sentence(ladder) for ladder in own]
        stories.append(Story(*pair, headline=lines[0], further=lines[1:] + _losses(own)))
    return stories


def sentence(ladder: Ladder) -> Markup:
    """`v12` is fastest at n = 2²⁸: 11.7× `v0`, 1.04× torch, 96 % of the read ceiling; certain."""
    where = fmt.assignments(ladder.sizes)
    winner = ladder.winner
    if winner is None:
        failed = sum(u.failed for u in ladder.unranked)
        left = len(ladder.unranked) - failed
        parts = [f"{failed} failed"] * bool(failed) + [f"{left} not timed"] * bool(left)
        return Markup("At {} nothing can be ranked: {}.").format(where, ", ".join(parts))
    facts = _facts(ladder, winner)
    floor = (
        f"A/A floor {fmt.percent(100 * ladder.floor)}"
        if math.isfinite(ladder.floor)
        else "no A/A floor was measured"
    )
    if ladder.tied:
        text = "{} cannot be told apart at {}: {}{} ({})."
        names = _listed([winner, *ladder.tied])
        lead = Markup("the first ") if facts else Markup("")
        return Markup(text).format(names, where, lead, facts, floor)
    only = len(ladder.rungs) == 1
    lead = Markup("{} is the only variant ranked" if only else "{} is fastest").format(
        _name(winner)
    )
    sure = "" if only else "; certain"
    return Markup("{} at {}: {}{} ({}).").format(lead, where, facts, sure, floor)


def _facts(ladder: Ladder, winner: Rung) -> Markup:
    facts: list[Markup] = []
    base, library = ladder.baseline, ladder.library
    if base and winner is not base:
        facts.append(_times(winner.versus_baseline, _name(base)))
    elif base:
        facts.append(Markup("the baseline itself"))
    if library:
        facts.append(_times(ladder.winner_versus_library, Markup.escape(library.planned.variant)))
    if winner.percent is not None:
        share = fmt.percent(winner.percent)
        facts.append(Markup("{} of the {}").format(share, ladder.measure.bound))
    else:
        rate = f"{fmt.three(winner.rate.value)} {ladder.measure.unit}"
        facts.append(Markup("{}, no ceiling measured").format(rate))
    return Markup(", ").join(facts)


def _times(comparison: Comparison | None, other: Markup) -> Markup:
    if comparison is None or comparison.ratio is None:
        return Markup("not compared with {}").format(other)
    words = {"same": "the same as {}", "unclear": "not told apart from {}"}
    if comparison.verdict in words:
        text = words[comparison.verdict] + " ({})"
        return Markup(text).format(other, fmt.times(comparison.ratio))
    slower = " (slower)" if comparison.verdict == "slower" else ""
    return Markup("{} {}{}").format(fmt.times(comparison.ratio), other, slower)


def _name(rung: Rung) -> Markup:
    text = '<a href="#{}" title="{}"><code>{}</code></a>'
    anchor = case_anchor(rung.planned.case)
    return Markup(text).format(anchor, rung.planned.variant, rung.short)


def _listed(rungs: list[Rung]) -> Markup:
    names = [_name(rung) for rung in rungs]
    if len(names) > 4:
        names = [*names[:3], Markup("{} more").format(len(names) - 3)]
    return Markup(", ").join(names[:-1]) + Markup(" and ") + names[-1]


def _losses(ladders: list[Ladder]) -> list[Markup]:
    """Which variants have no place for a failure, at any size."""
    failed = {u.variant: u.short for ladder in ladders for u in ladder.unranked if u.failed}
    if not failed:
        return []
    codes = Markup(", ").join(Markup("<code>{}</code>").format(s) for s in failed.values())
    text = 'Not ranked: {}; <a href="#failures">why</a>.'
    return [Markup(text).format(codes)]


def emulated(run: Run) -> list[Story]:
    """What was verified, and how close to its bound the worst error came."""
    stories: list[Story] = []
    for pair in dict.fromkeys((p.problem, p.dtype) for p in run.planned.values()):
        cases = [
            p for p in run.planned.values() if (p.problem, p.dtype) == pair and not p.is_library
        ]
        checks = [v for v in run.of(Verified) if (v.problem, v.dtype) == pair]
        if cases:
            stories.append(Story(*pair, headline=_verified(run, cases, checks), further=[]))
    return stories


def _verified(run: Run, cases: list[Planned], checks: list[Verified]) -> Markup:
    variants = list(dict.fromkeys(p.variant for p in cases))
    bad = {p.variant for p in cases if run.outcomes[p.case].status == "failed"}
    bad |= {v.variant for v in checks if not v.ok}
    good = [name for name in variants if any(v.variant == name for v in checks) and name not in bad]
    unchecked = [name for name in variants if name not in bad and name not in good]
    worst = max((v.error for v in checks if v.ok and v.error is not None), default=None)
    error = f" (worst error {fmt.three(worst)} of its bound)" if worst is not None else ""
    passed = [v for v in checks if v.variant in good]
    who = (
        f"All {len(variants)} variants"
        if len(good) == len(variants) > 1
        else f"{len(good)} of {len(variants)} variants"
    )
    parts = [Markup("{} verified{} against float64{}").format(who, _where(passed), error)]
    for names, what in ((sorted(bad), "failed"), (unchecked, "not verified")):
        if names:
            codes = Markup(", ").join(Markup("<code>{}</code>").format(n) for n in names)
            parts.append(Markup("{} {}").format(codes, what))
    return Markup("; ").join(parts) + Markup(".")


def _where(checks: list[Verified]) -> str:
    sizes = {tuple(v.sizes.items()) for v in checks}
    if not sizes:
        return ""
    names = {name for size in sizes for name, _ in size}
    if len(names) == 1:
        return f" at {names.pop()} = {fmt.between([size[0][1] for size in sizes])}"
    return f" at {len(sizes)} sizes"
