"""The numbers of the ladder's chart, as a table."""

from __future__ import annotations

import re

from harness.analysis.ladder import Ladder, Measure, Rung, inverse
from harness.journal.records import Planned
from harness.report import format as fmt
from harness.report.anchors import case_anchor, slug
from harness.report.links import Links
from harness.report.tables.cells import (
    Cell,
    Column,
    Row,
    Table,
    compared,
    launch_cell,
    named,
    none,
    of_ceiling,
)
from harness.tables import Run

_ONE_SIZE = re.compile(r"at (\w+ = \d+(?:, \w+ = \d+)*) ")


def ladder_table(run: Run, ladder: Ladder, links: Links) -> Table:
    """One row per variant in the matrix's order, the libraries last."""
    base = ladder.baseline.short if ladder.baseline else "the baseline"
    steps = run.tells_what_builds_on_what
    columns = [
        Column("variant", numeric=False),
        Column("launch", "the launch shape that the variant was fastest at", numeric=False),
        Column(
            "time",
            "from an empty L2 cache: the geometric mean over placements of the median of "
            "each one's rounds, with its confidence interval",
        ),
        Column(ladder.measure.unit, "compulsory work of the problem over the time"),
        Column(*_ceiling(ladder.measure)),
        Column(f"against {base}", "how many times faster, compared within each round"),
    ]
    if steps:
        columns += [
            Column("builds on", "the variant of which this one is a step further", numeric=False),
            Column("against that", "how many times faster than what it builds on"),
        ]
    fastest = ladder.winner.short if ladder.winner else "the fastest"
    columns += [Column(f"{fastest} against it", "how many times faster the fastest of ours is")]
    remarks = {r.planned.variant: remarks_on(run, r) for r in ladder.everyone}
    if any(remarks.values()):
        columns += [Column("remarks", numeric=False)]
    rows = []
    for rung in ladder.everyone:
        p = rung.planned
        cells = [
            named(p.variant, links.problem(p.problem, case_anchor(p.case))),
            launch_cell(p),
            Cell(fmt.time_interval(rung.time), rung.time.value),
            Cell(fmt.three(rung.rate.value), rung.rate.value),
            of_ceiling(rung, ladder.measure.no_roof),
            compared(rung.versus_baseline, "baseline" if rung is ladder.baseline else "–"),
        ]
        if steps:
            before = ladder.rung(rung.parent.variant) if rung.parent else None
            cells += [
                Cell(before.short if before else rung.parent.variant, css="short")
                if rung.parent
                else none(),
                compared(rung.versus_parent),
            ]
        cells += [compared(inverse(rung.versus_winner), "the fastest")]
        if any(remarks.values()):
            cells += [Cell("; ".join(remarks[p.variant]), css="wrap")]
        rows.append(Row(cells))
    return Table(
        f"table-{slug('-'.join(ladder.key))}",
        f"{ladder.problem} at {fmt.assignments(ladder.sizes)}",
        columns,
        rows,
        "cards",
    )


def _ceiling(measure: Measure) -> tuple[str, str]:
    """`of copying`, and its explanation."""
    if measure.roof is None:
        why = measure.no_roof or "nothing that its work is limited by was measured in this run"
        return "of ceiling", why
    least = f"{fmt.time(measure.roof.least.value)} at least"
    return f"of {measure.roof.name}", f"of the {measure.bound} measured in this run: {least}" + (
        f"; {measure.roof.note}" if measure.roof.note else ""
    )


def remarks_on(run: Run, rung: Rung) -> list[str]:
    """Notes on a variant that is correct: placement, ceiling, remarks from verification."""
    p, found = rung.planned, []
    if rung.spread and rung.spread.depends_on_placement:
        between = fmt.percent(100 * rung.spread.between)
        within = fmt.percent(100 * rung.spread.within)
        found.append(f"depends on where its memory lies: ± {between}, ± {within} in one place")
    roof = run.roof(p)
    if roof and run.arithmetic(p) == "3 tf32":
        found.append(f"of ceiling is of {roof.named}")
    for told in run.told.get(p.case, {}).values():
        found.append(f"{fmt.three(told.value)} {told.unit}")
    noted = run.remarks.get((p.problem, p.variant), [])
    texts = [_of_this_size(remark.text, p) for remark in noted if remark.dtype == p.dtype]
    return found + list(filter(None, texts))


def _of_this_size(text: str, planned: Planned) -> str:
    """Show a remark on one size ("at n = 64 runs …") only with that size, and without the size's
    name."""
    named = _ONE_SIZE.match(text)
    if not named:
        return text
    sizes = ", ".join(f"{name} = {value}" for name, value in planned.sizes.items())
    return text[named.end() :] if named[1] == sizes else ""
