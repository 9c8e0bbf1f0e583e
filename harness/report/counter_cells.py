"""Tables of counters: what they come to a case, every one launch by launch, and ncu's durations.

A cell without a value says which of three it is (not permitted, not collected, not applicable),
and in full why, on hover.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.analysis.quantities import Answer, Missing, Quantity
from harness.ncu.metrics import base
from harness.records import Planned
from harness.report import format as fmt
from harness.report.anchors import case_anchor, counter_anchor, slug
from harness.report.cells import Cell, Column, Row, Table, named
from harness.report.counted import Group, show
from harness.report.glossary import meaning
from harness.tables import Run


def absent(missing: Missing) -> Cell:
    """A cell with no value: the kind of absence, and on hover the reason."""
    title = missing.reason if missing.reason != missing.short else ""
    return Cell(missing.short, css="none", title=title)


def quantity_cell(quantity: Quantity, answer: Answer) -> Cell:
    if isinstance(answer, Missing):
        return absent(answer)
    return Cell(show(quantity, answer.value), answer.value)


def derived_table(group: Group) -> Table:
    """What the counters say, a row a case."""
    known = group.known()
    launch = _launch_keys(group.cases)
    columns = [Column("variant", numeric=False), *(Column(k) for k in launch)]
    columns += [Column(q.title, q.text) for q in known]
    rows = [
        Row(
            [
                named(p.variant, case_anchor(p.case)),
                *_launch(p, launch),
                *(quantity_cell(q, group.value(q, p)) for q in known),
            ]
        )
        for p in group.cases
    ]
    return Table(f"derived-{slug('-'.join(group.key))}", _titled(group), columns, rows)


def counter_table(group: Group) -> Table:
    """Every counter as it was read, a row a launch; one that nowhere has a value is told too."""
    readings = group.readings
    metrics = readings.metrics([p.case for p in group.cases])
    launch = _launch_keys(group.cases)
    columns = [Column("variant", numeric=False), *(Column(k) for k in launch)]
    columns += [Column("launch", numeric=False)]
    for metric, (unit, provenance) in metrics.items():
        about = ", ".join(filter(None, (unit, provenance)))
        explained = f"{metric}{f' ({about})' if about else ''}: {meaning(metric).text}"
        columns.append(Column(meaning(metric).title, explained, counter_anchor(metric)))
    rows = []
    for p in group.cases:
        for step in readings.steps(p.case):
            kernel = readings.kernel(p.case, step)
            answers = [readings.at(p.case, step, base(metric)) for metric in metrics]
            rows.append(
                Row(
                    [
                        named(p.variant, case_anchor(p.case)),
                        *_launch(p, launch),
                        Cell(f"{step + 1}: {kernel}" if kernel else str(step + 1), step),
                        *(
                            _raw(a, unit)
                            for a, (unit, _) in zip(answers, metrics.values(), strict=True)
                        ),
                    ]
                )
            )
    return Table(f"counters-{slug('-'.join(group.key))}", _titled(group), columns, rows)


def _raw(answer: Answer, unit: str) -> Cell:
    if isinstance(answer, Missing):
        return absent(answer)
    value = answer.value
    if unit == "ratio":
        return Cell(fmt.percent(100 * value) if value else "0", value)
    if unit == "byte":
        return Cell(fmt.data(value), value)
    if unit == "ns":
        return Cell(fmt.time(value) if value else "0", value)
    return Cell(fmt.amount(value), value)


def _launch_keys(cases: list[Planned]) -> list[str]:
    return list(dict.fromkeys(key for p in cases for key in p.launch))


def _launch(p: Planned, keys: list[str]) -> list[Cell]:
    return [
        Cell(fmt.count(p.launch[k]), p.launch[k]) if k in p.launch else Cell("–", css="none")
        for k in keys
    ]


def _titled(group: Group) -> str:
    return f"{group.key[0]} at {fmt.assignments(group.cases[0].sizes)}"


@dataclass(frozen=True)
class Durations:
    """ncu's duration of each case beside its event time, and which disagree."""

    table: Table
    flagged: list[str]


def durations(run: Run) -> Durations | None:
    """None where ncu measured no duration, or nothing was timed by events."""
    rows, flagged = [], []
    for found in run.durations.to_dict("records"):
        p = run.planned[str(found["case"])]
        off, wrong = float(found["ratio"]) - 1, bool(found["disagrees"])
        if wrong:
            flagged.append(p.case)
        rows.append(
            Row(
                [
                    named(p.variant, case_anchor(p.case)),
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
        Column("event time", "cold, median over rounds, between two CUDA events"),
        Column("under ncu", "gpu__time_duration of one profiled call, all its launches together"),
        Column("difference", "of Nsight Compute's duration to the event time"),
    ]  # fmt: skip
    title = "Durations under Nsight Compute beside event times"
    return Durations(Table("table-durations", title, columns, rows), flagged)


def _signed(part: float) -> str:
    return f"{'+' if part >= 0 else '−'}{fmt.percent(abs(100 * part))}"
