"""A run's budgets: a table on each problem's page, and all of them in budgets.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from harness import budgets
from harness.analysis.budgets import Check, checks
from harness.console import escaping
from harness.journal import run_files
from harness.report.anchors import case_anchor, slug
from harness.report.links import Links
from harness.report.tables.cells import Cell, Column, Row, Table, named, none
from harness.tables import Run

FILE = "budgets.csv"


def write(run: Run) -> None:
    """Write one row per case and budget to a file in the run's folder; no file without budgets."""
    found = checks(run)
    if not found:
        run_files.remove(run.folder, FILE)
        return
    columns = ["case", "budget", "expected", "status", "value", "provenance", "where", "reason"]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for c in found:
        value = "" if c.value is None else f"{c.value:.10g}"
        row = [c.case, c.name, str(c.budget), c.status, value, c.provenance, c.where, c.reason]
        writer.writerow(map(escaping.cell, row))
    run_files.write(run.folder, FILE, written.getvalue())


def budget_table(found: Sequence[Check], problem: str, links: Links) -> Table:
    """One row per variant, type, budget and outcome; each broken budget has a row of its own."""
    rows: dict[tuple[str, ...], list[Check]] = {}
    for c in found:
        own = c.case if c.status == "broken" else ""
        key = c.variant, c.dtype, c.name, str(c.budget), c.status, c.reason, own
        rows.setdefault(key, []).append(c)
    columns = [
        Column("variant", numeric=False), Column("type", numeric=False),
        Column("budget", "a quantity or counter that bench.yaml sets a limit to", numeric=False),
        Column("expected", numeric=False), Column("status", numeric=False),
        Column("found", "where several cases share a row, from the least to the most"),
        Column("counted by", "where the figure comes from", numeric=False),
        Column("where", "the source line that does most against it, or the kernel", numeric=False),
        Column("cases", numeric=False),
    ]  # fmt: skip
    ranked = sorted(rows.values(), key=lambda same: same[0].status != "broken")
    return Table(
        f"budgets-{slug(problem)}", "Budgets", columns, [_row(same, links) for same in ranked]
    )


def _row(same: Sequence[Check], links: Links) -> Row:
    first = same[0]
    values = [c.value for c in same if c.value is not None]
    ends = (min(values), max(values)) if values else ()
    shown = list(dict.fromkeys(map(budgets.shown, ends)))
    css = {"broken": "failed", "kept": "ok"}.get(first.status, "")
    return Row([
        named(first.variant),
        Cell(first.dtype),
        Cell(first.name),
        Cell(first.budget.words),
        Cell(first.status, first.status, first.reason, css),
        Cell(" to ".join(shown), max(values)) if values else none("–", first.reason),
        Cell(first.provenance) if first.provenance else none(),
        Cell(first.where, css="wrap") if first.where else none("–", first.reason),
        Cell(first.case, link=links.problem(first.problem, case_anchor(first.case)), css="wrap")
        if len(same) == 1
        else Cell(f"{len(same)} cases", len(same)),
    ])  # fmt: skip
