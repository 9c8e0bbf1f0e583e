"""The first screen of a run without times: avoidable losses, and the changes at each step."""

from __future__ import annotations

from markupsafe import Markup

from harness.analysis.counted import Counts, Rung
from harness.report import counts
from harness.report import format as fmt
from harness.report.anchors import case_anchor
from harness.report.links import Links


def answer(found: Counts, links: Links) -> Markup:
    """The headline on counters, for example that `v1` has 32.0× the ideal wavefronts."""
    where = fmt.assignments(found.sizes) or "its only size"
    losing = found.losing
    if not losing:
        step = counts.largest_change(found)
        if not step:
            said = counts.nothing(found)
            return Markup.escape(f"At {where} {said}.")
        said = "no variant leaves anything on the table that was counted exactly"
        return Markup.escape(f"At {where} {said}. The largest step: {step}.")
    first, *others = (
        Markup("{}: {}").format(_name(rung, links), rung.losses[0]) for rung in losing
    )
    lead = Markup("Most is left on the table at {} by {}").format(where, first)
    rest = Markup("").join(Markup("; {}").format(each) for each in others[: counts.MOST])
    if (beyond := len(others) - counts.MOST) > 0:
        rest += Markup("; and {} more").format(beyond)
    free = [rung for rung in found.rungs if not rung.losses]
    if free:
        named = Markup(", ").join(_name(rung, links) for rung in free[:4])
        left = f" and {len(free) - 4} more" if len(free) > 4 else ""
        rest += Markup(". Nothing of the kind: {}{}").format(named, left)
    return lead + rest + Markup(".")


def steps(found: Counts, links: Links) -> list[Markup]:
    """The largest change in each step, in the matrix's order."""
    return [
        Markup("{} {}.").format(_name(rung, links), step)
        for rung in found.rungs if (step := counts.changed(found, rung))
    ]  # fmt: skip


def _name(rung: Rung, links: Links) -> Markup:
    p = rung.planned
    text = '<a href="{}" title="{}"><code>{}</code></a>'
    return Markup(text).format(links.problem(p.problem, case_anchor(p.case)), p.variant, rung.short)
