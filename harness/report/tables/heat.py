"""Tables with cells coloured by comparison: counters, and launch shapes.

For a counter, a stronger colour means that a value is farther from its column's best; for a rate,
that it is nearer to the fastest. Values that were not counted exactly are hatched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.finders import evaluate
from harness.analysis.ladder import Ladder, short_names
from harness.analysis.readings import Answer, Missing, Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES, Quantity
from harness.report import format as fmt
from harness.report.anchors import case_anchor, slug
from harness.report.tables.cells import Cell, Column, Row, Table, absent, named, none, shape
from harness.tables import Run

SHOWN = (
    "instructions-per-kib", "acting-threads", "branch-uniformity", "barriers",
    "wavefronts-over-ideal", "wavefronts", "sectors-per-load", "sectors-per-store",
    "sectors-over-compulsory", "global-atomics", "shared-lanes-per-address",
    "dram-over-compulsory", "l2-hits", "dram-throughput", "achieved-occupancy", "waves",
)  # fmt: skip
"""The quantities in the overview table."""
_LONG = ("wave\u00adfronts", "com\u00adpulsory", "through\u00adput")
"""The places at which a column's heading may break."""
STEPS = 5
"""The number of colour strengths."""
_ALIKE = 1.05
"""A column whose values differ by less than this factor is not coloured."""


def counter_table(readings: Readings, anchor: str, shown: Sequence[Planned]) -> Table | None:
    """One row per variant as it is shown; None if nothing was counted."""
    columns, found = [Column("variant", numeric=False)], []
    for quantity in (QUANTITIES[key] for key in SHOWN):
        answers = [evaluate(quantity.key, readings, p) for p in shown]
        if any(isinstance(a, Reading) and a.value for a in answers):
            heading = quantity.labels.column
            for word in _LONG:
                heading = heading.replace(word.replace("\u00ad", ""), word)
            columns.append(Column(heading, f"{quantity.title}. {quantity.meaning}"))
            found.append((quantity, answers))
    if not found:
        return None
    coloured = [_coloured(quantity, answers) for quantity, answers in found]
    shorts = short_names([p.variant for p in shown])
    rows = [
        Row([named(p.variant, f"#{case_anchor(p.case)}", shorts[p.variant]),
             *(column[i] for column in coloured)])
        for i, p in enumerate(shown)
    ]  # fmt: skip
    return Table(anchor, "Counters", columns, rows, "heat")


def _coloured(quantity: Quantity, answers: Sequence[Answer]) -> list[Cell]:
    known = [a.value for a in answers if isinstance(a, Reading)]
    cells = []
    for answer in answers:
        if isinstance(answer, Missing):
            cells.append(replace(absent(answer), text="–", title=answer.reason))
            continue
        # An amount is not coloured: a variant that uses shared memory at all would stand out beside
        # one that does not.
        good = quantity.good if quantity.unit else "neutral"
        css = [f"h{strength(good, answer.value, known, quantity.ideal)}"]
        if not answer.judges:
            css.append("soft")
        value = 100 * answer.value if quantity.unit == "ratio" else answer.value
        text = f"{fmt.three(value)} %" if quantity.unit == "ratio" else fmt.compact(value)
        at = f", emulated at {answer.counted_at}" if answer.counted_at else ""
        cells.append(Cell(text, answer.value, answer.provenance + at, " ".join(css)))
    return cells


def strength(good: str, value: float, column: Sequence[float], ideal: float | None = None) -> int:
    """The strength of a cell's colour, from 0 to STEPS, by the factor between its value and the
    best one in its column."""
    if good == "neutral":
        return 0
    ideals = [ideal] if ideal is not None else []
    best = min([*column, *ideals]) if good == "lower" else max([*column, *ideals])

    def off(x: float) -> float:
        over, under = (x, best) if good == "lower" else (best, x)
        return math.log(over / under) if over > 0 and under > 0 else float(over > under)

    most = max(off(x) for x in column)
    return round(STEPS * off(value) / most) if most > math.log(_ALIKE) else 0


def shape_table(run: Run, ladder: Ladder) -> Table | None:
    """Launch shape × variant: the rate if it was timed, otherwise the reason why not."""
    cases = [p for p in run.groups()[ladder.key] if p.launch]
    shapes = list(dict.fromkeys(shape(p) for p in cases))
    if len(shapes) < 2:
        return None
    rates, why = {}, {}
    for p in cases:
        time, outcome = run.time(p.case), run.outcomes[p.case]
        if outcome.status == "ok" and time:
            rates[p.variant, shape(p)] = ladder.measure.of(p, time.value)
        else:
            why[p.variant, shape(p)] = outcome.status if outcome.status != "ok" else "not timed"
    if not rates:
        return None
    shown = {(p.variant, shape(p)) for p in run.timings.shown(ladder.key)}
    most = max(rates.values())
    rows = []
    variants = list(dict.fromkeys(p.variant for p in cases))
    shorts = short_names(variants)
    for variant in variants:
        cells = [named(variant, brief=shorts[variant])]
        for each in shapes:
            at = variant, each
            if at not in rates:
                cells.append(none(why.get(at, "not planned")))
                continue
            share = rates[at] / most
            best = "best" if at in shown else ""
            cells.append(
                Cell(fmt.three(rates[at]), rates[at], css=f"r{round(STEPS * share)} {best}")
            )
        rows.append(Row(cells))
    columns = [Column("variant", numeric=False), *(Column(each) for each in shapes)]
    return Table(f"shapes-{slug('-'.join(ladder.key))}", "Launch shapes", columns, rows, "heat")
