"""Counters as read, and Nsight Compute's durations compared with event times."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.ladder import short_names
from harness.analysis.readings import Answer, Missing, Readings
from harness.journal.records import Planned
from harness.ncu.metrics import base
from harness.report import format as fmt
from harness.report.anchors import case_anchor
from harness.report.links import Links
from harness.report.tables.cells import Cell, Column, Row, Table, named, none
from harness.report.words import meaning
from harness.tables import Run

MOST = 12
"""The maximum number of columns that fit on a page."""


def raw_tables(
    readings: Readings, anchor: str, title: str, shown: Sequence[Planned], links: Links
) -> list[Table]:
    """Every counter of each variant as it is shown: one row per counter and launch.

    A counter without any value is listed too. If there are many variants, the rows are divided
    among several tables.
    """
    counted = [p for p in shown if p.case in readings.counted]
    shorts = short_names([p.variant for p in counted])
    parts = [counted[i : i + MOST] for i in range(0, len(counted), MOST)]
    return [
        Table(
            f"{anchor}-{n}" if n else anchor,
            title,
            [Column("counter", numeric=False), Column("launch", numeric=False),
             *(Column(shorts[p.variant], p.variant) for p in part)],
            _rows(readings, part, links),
            "raw",
        )
        for n, part in enumerate(parts)
    ]  # fmt: skip


def _rows(readings: Readings, cases: Sequence[Planned], links: Links) -> list[Row]:
    steps = {p.case: readings.steps(p.case) for p in cases}
    most = max(len(each) for each in steps.values())
    rows = []
    metrics = readings.metrics([p.case for p in cases])
    usual = statistics.mode(provenance for _, provenance in metrics.values()) if metrics else ""
    for metric, (unit, provenance) in metrics.items():
        about = meaning(metric)
        # The prefix that nearly all metrics have is left out: the link leads to the metric's name
        # and meaning.
        title = "" if provenance == usual else f"{metric} ({provenance})"
        name = Cell(about.title, title=title, link=links.counter(metric))
        for step in range(most):
            cells = [
                _raw(readings.at(p.case, step, base(metric)), unit)
                if step in steps[p.case]
                else none("")
                for p in cases
            ]
            rows.append(Row([name, Cell(f"{step + 1}" if most > 1 else "only"), *cells]))
    return rows


def _raw(answer: Answer, unit: str) -> Cell:
    if isinstance(answer, Missing):
        return none(_SHORT.get(answer.short, answer.short), answer.reason)
    value = answer.value
    css = "" if answer.judges else "soft"
    if unit == "ratio":
        return Cell(fmt.percent(100 * value) if value else "0", value, css=css)
    if unit == "byte":
        return Cell(fmt.data(value), value, css=css)
    if unit == "ns":
        return Cell(fmt.time(value) if value else "0", value, css=css)
    return Cell(fmt.compact(value), value, css=css)


_SHORT = {"not permitted": "denied", "not collected": "–", "not applicable": "n/a"}
"""The three kinds of absence in a narrow column; the cell gives the full reason on hover."""


@dataclass(frozen=True)
class Durations:
    """ncu's duration of each case and its event time, with a mark if the two disagree."""

    table: Table
    flagged: list[str]


def durations(run: Run, problem: str) -> Durations | None:
    """None if ncu measured no duration, or nothing was timed by events."""
    rows, flagged = [], []
    for found in run.durations.to_dict("records"):
        p = run.planned[str(found["case"])]
        if p.problem != problem:
            continue
        off, wrong = float(found["ratio"]) - 1, bool(found["disagrees"])
        if wrong:
            flagged.append(p.case)
        rows.append(
            Row(
                [
                    named(p.variant, f"#{case_anchor(p.case)}"),
                    Cell(fmt.assignments({**p.sizes, **p.launch})),
                    Cell(fmt.time(found["event_ns"]), found["event_ns"]),
                    Cell(fmt.time(found["ncu_ns"]), found["ncu_ns"]),
                    Cell(_signed(off), off, css="failed" if wrong else ""),
                ]
            )
        )
    if not rows:
        return None
    columns = [
        Column("variant", numeric=False), Column("case", numeric=False),
        Column("event time", "from an empty L2 cache, between two CUDA events"),
        Column("under ncu", "gpu__time_duration of one profiled call, all its launches together"),
        Column("difference", "of Nsight Compute's duration to the event time"),
    ]  # fmt: skip
    title = "Durations under Nsight Compute beside event times"
    return Durations(Table("table-durations", title, columns, rows), flagged)


def _signed(part: float) -> str:
    return f"{'+' if part >= 0 else '−'}{fmt.percent(abs(100 * part))}"
