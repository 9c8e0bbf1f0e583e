"""The first screen: a sentence per problem and size, which claims no more than the data shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from harness.analysis.causes.why import LadderStep
from harness.analysis.checks import Check, checks
from harness.analysis.counted import Counts, largest
from harness.analysis.ladder import Ladder, Rung, inverse
from harness.cases import how_many
from harness.journal.records import Planned, Verified
from harness.report import format as fmt
from harness.report.anchors import case_anchor
from harness.report.links import Links
from harness.report.pages import counted
from harness.statistics.timings import Comparison
from harness.tables import Run

Steps = Mapping[str, LadderStep]
"""Variant → the step by which it was reached, at one size."""


@dataclass(frozen=True)
class Story:
    """The sentences about one problem and type, followed by one for each further size or remark."""

    problem: str
    dtype: str
    headline: Markup
    """The answer."""
    detail: Markup
    """The runner-up, how certain the lead is, and where the last gains came from."""
    further: list[Markup]
    folded: Sequence[Markup] = ()
    """The folded sentences, about sizes beyond the first few."""
    has_failed: bool = False
    """True if something in a run without times should have been verified but was not."""


FEW_SIZES, MANY_SIZES = 3, 6
"""The sizes besides the largest: if there are more than MANY_SIZES of them, only FEW_SIZES are
unfolded."""

Told = Mapping[str, tuple[Sequence[Ladder], Sequence[Steps]]]
"""Type → its ladders and the steps of each, the largest first; empty without times."""


def stories(
    run: Run, problem: str, told: Told, links: Links, counts: Sequence[Counts] = ()
) -> list[Story]:
    """One story per type of a problem. `counts`: the counted results, for a run without times."""
    return [
        timed(own, steps, links) if own
        else _with_counts(emulated(run, problem, dtype), largest(counts, problem, dtype), links)
        for dtype, (own, steps) in told.items()
    ]  # fmt: skip


def _with_counts(verified: Story, found: Counts | None, links: Links) -> Story:
    """Move the story on verification after the one on counts; a failure stays first."""
    if found is None:
        return verified
    both = [counted.answer(found, links), verified.headline]
    if verified.has_failed:
        both.reverse()
    rest = [both[1], verified.detail] if verified.detail else both[1:]
    return replace(
        verified, headline=both[0], detail=Markup(" ").join(rest),
        further=counted.steps(found, links),
    )  # fmt: skip


def timed(own: Sequence[Ladder], steps: Sequence[Steps], links: Links) -> Story:
    """The story of one problem and type; the largest size is the headline."""
    first, *others = (sentence(ladder, links) for ladder in own)
    most = len(others) if len(others) <= MANY_SIZES else FEW_SIZES
    return Story(
        own[0].problem,
        own[0].dtype,
        first,
        detail(own[0], steps[0], links),
        others[:most] + _losses(own, links),
        others[most:],
    )


def sentence(ladder: Ladder, links: Links) -> Markup:
    """`v12` is fastest at n = 2²⁸: 11.1× `v0`, 1.05× torch, 99.1 % of the read ceiling."""
    where = fmt.assignments(ladder.sizes) or "its only size"
    winner = ladder.winner
    if winner is None:
        failed = sum(u.failed for u in ladder.unranked)
        left = len(ladder.unranked) - failed
        parts = [f"{failed} failed"] * bool(failed) + [f"{left} not timed"] * bool(left)
        return Markup("At {} nothing can be ranked: {}.").format(where, ", ".join(parts))
    facts = _facts(ladder, winner, links)
    if ladder.tied:
        lead = Markup("the first ") if facts else Markup("")
        names = _listed([winner, *ladder.tied], links)
        same = all(r.versus_winner and r.versus_winner.verdict == "same" for r in ladder.tied)
        told = "are the same" if same else "cannot be told apart"
        return Markup("{} {} at {}: {}{}.").format(names, told, where, lead, facts)
    only = len(ladder.rungs) == 1
    text = Markup(
        "{} is the only variant ranked at {}: {}." if only else "{} is fastest at {}: {}."
    )
    return text.format(_name(winner, links), where, facts)


def _facts(ladder: Ladder, winner: Rung, links: Links) -> Markup:
    facts: list[Markup] = []
    base = ladder.baseline
    if base and winner is not base:
        facts.append(_times(winner.versus_baseline, _name(base, links)))
        if ladder.substitute:
            facts[-1] += Markup(", which stands in for the baseline that failed")
    elif base:
        facts.append(Markup("the baseline itself"))
    for library in ladder.libraries[:2]:
        versus = inverse(library.versus_winner)
        facts.append(_times(versus, Markup.escape(library.planned.variant)))
    if winner.percent is not None and winner.roof:
        share = fmt.share(winner.percent)
        facts.append(Markup("{} of the {}").format(share, winner.roof.bound))
        if winner.roof.note:
            facts[-1] += Markup(" ({})").format(winner.roof.note)
    elif ladder.measure.no_roof:
        rate = f"{fmt.three(winner.rate.value)} {ladder.measure.unit}"
        facts.append(Markup("{}, no roof: {}").format(rate, ladder.measure.no_roof))
    else:
        rate = f"{fmt.three(winner.rate.value)} {ladder.measure.unit}"
        facts.append(Markup("{}, no ceiling measured").format(rate))
    return Markup(", ").join(facts)


def detail(ladder: Ladder, steps: Steps, links: Links) -> Markup:
    """Runner-up `v11`, 0.21 % slower; certain: two runs of the same kernel differ by at most …"""
    if ladder.winner is None:
        return Markup("")
    parts = []
    runner = ladder.runner_up
    if runner and runner.versus_winner and runner.versus_winner.ratio:
        told = "The next" if ladder.tied else "Runner-up"
        gap = fmt.slower(runner.versus_winner.ratio)
        parts.append(Markup("{} is {}, {}").format(told, _name(runner, links), gap))
    if math.isfinite(ladder.noise):
        sure = "certain: " if parts and not ladder.tied else ""
        noise = fmt.percent(100 * ladder.noise)
        parts.append(
            Markup("{}two runs of the same kernel differ by at most {}").format(sure, noise)
        )
    else:
        parts.append(Markup("nothing in this run says how much equal kernels differ"))
    text = Markup("; ").join(parts) + Markup(".")
    text = text[0].upper() + text[1:]
    gains = last_gains(ladder, steps)
    if gains:
        clauses = Markup(", ").join(
            Markup("{} over {} {}{}").format(
                _name(_rung(ladder, step.after), links), _name(_rung(ladder, step.before), links),
                fmt.times(step.speed.ratio),
                f" ({causes(step)})" if causes(step) else "",
            )
            for step in gains
            if step.speed and step.speed.ratio
        )  # fmt: skip
        many = "Its last gains" if len(gains) > 1 else "Its last gain"
        text += Markup(" {}: {}.").format(many, clauses)
    return text


def last_gains(ladder: Ladder, steps: Steps, most: int = 2) -> list[LadderStep]:
    """The last steps towards the winner that have a certain speed-up, earlier ones first."""
    if ladder.winner is None:
        return []
    found = []
    for rung in ladder.lineage(ladder.winner.planned.variant):
        step = steps.get(rung.planned.variant)
        before = step and ladder.rung(step.before.variant)
        if step and before and step.speed and step.speed.verdict == "faster":
            found.append(step)
    return found[:most][::-1]


def largest_gain(ladder: Ladder, steps: Steps) -> LadderStep | None:
    """The step towards the winner with the greatest gain."""
    gains = last_gains(ladder, steps, most=10_000)
    return max(gains, key=lambda s: s.speed.ratio.value if s.speed and s.speed.ratio else 0,
               default=None)  # fmt: skip


def causes(step: LadderStep, most: int = 2) -> str:
    """The causes that the counters support, in a clause; empty if there are none."""
    found = [cause.text for cause in step.finding.causes][:most]
    if not found and step.finding.verdict == "unexplained":
        return "no counter explains it"
    return " and ".join(found)


def _rung(ladder: Ladder, p: Planned) -> Rung:
    rung = ladder.rung(p.variant)
    assert rung is not None  # only ranked variants have gains
    return rung


def _times(comparison: Comparison | None, other: Markup) -> Markup:
    if comparison is None or comparison.ratio is None:
        return Markup("not compared with {}").format(other)
    words = {"same": fmt.verdict("same") + " as {}", "unclear": "not told apart from {}"}
    if comparison.verdict in words:
        text = words[comparison.verdict] + " ({})"
        return Markup(text).format(other, fmt.times(comparison.ratio))
    slower = " (slower)" if comparison.verdict == "slower" else ""
    return Markup("{} {}{}").format(fmt.times(comparison.ratio), other, slower)


def _name(rung: Rung, links: Links) -> Markup:
    p = rung.planned
    text = '<a href="{}" title="{}"><code>{}</code></a>'
    return Markup(text).format(links.problem(p.problem, case_anchor(p.case)), p.variant, rung.short)


def _listed(rungs: list[Rung], links: Links) -> Markup:
    names = [_name(rung, links) for rung in rungs]
    if len(names) > 4:
        names = [*names[:3], Markup("{} more").format(len(names) - 3)]
    return Markup(", ").join(names[:-1]) + Markup(" and ") + names[-1]


def _losses(ladders: Sequence[Ladder], links: Links) -> list[Markup]:
    """A sentence that names the variants that failed at any size, and links to the reasons."""
    failed = {u.variant: u.short for ladder in ladders for u in ladder.unranked if u.failed}
    if not failed:
        return []
    codes = Markup(", ").join(Markup("<code>{}</code>").format(s) for s in failed.values())
    where = links.problem(ladders[0].problem, f"failures-{links.slugs[ladders[0].problem]}")
    return [Markup('Not ranked: {}; <a href="{}">why</a>.').format(codes, where)]


def emulated(run: Run, problem: str, dtype: str) -> Story:
    """Say what was verified, how close the worst error came to its bound, and what was left out."""
    found = checks(run, problem, dtype)
    by: dict[str, list[Check]] = {}
    for check in found:
        by.setdefault(check.status, []).append(check)
    good, skipped = by.get("verified", []), by.get("skipped", [])
    passed = [v for check in good for v in check.passed]
    worst = max((check.worst for check in good if check.worst is not None), default=None)
    error = f" (worst error {fmt.three(worst)} of its bound)" if worst is not None else ""
    count = len(found) - len(skipped)
    everyone = len(good) == count > 1
    who = f"All {count} variants" if everyone else f"{len(good)} of {how_many(count, 'variant')}"
    parts = [Markup("{} verified{} against float64{}").format(who, _where(passed), error)]
    for status in ("failed", "not verified"):
        if status in by:
            parts.append(Markup("{} {}").format(_codes(by[status]), status))
    left: dict[str, list[Check]] = {}
    for check in skipped:
        left.setdefault(check.reason, []).append(check)
    detail = Markup(" ").join(
        Markup("{} skipped: {}.").format(_codes(each), why) for why, each in left.items()
    )
    failed = "failed" in by or "not verified" in by
    headline = Markup("; ").join(parts) + Markup(".")
    return Story(problem, dtype, headline, detail, [], has_failed=failed)


def _codes(found: Sequence[Check]) -> Markup:
    return Markup(", ").join(Markup("<code>{}</code>").format(c.variant) for c in found)


def _where(passed: Sequence[Verified]) -> str:
    sizes = {tuple(v.sizes.items()) for v in passed}
    if not sizes:
        return ""
    names = {name for size in sizes for name, _ in size}
    if len(names) == 1:
        return f" at {names.pop()} = {fmt.between([size[0][1] for size in sizes])}"
    return f" at {how_many(len(sizes), 'size')}"
