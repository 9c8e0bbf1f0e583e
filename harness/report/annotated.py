"""The source of each variant with what its lines cost, as the emulator counted it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from harness.analysis import source_lines as annotate
from harness.analysis.sources import as_it_was
from harness.records import Planned, SourceLine
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.tables import Run


@dataclass(frozen=True)
class Row:
    """A line of source: its cost in cells, each empty where there is none."""

    number: int
    cells: tuple[str, ...]
    text: str
    marks: str


@dataclass(frozen=True)
class Listing:
    """One variant's own file; `missing` says why it cannot be shown."""

    anchor: str
    title: str
    marked: int
    columns: list[tuple[str, str]]
    """Name and meaning of each of a row's cells."""
    rows: list[Row]
    missing: str


def listings(run: Run, problem: str, dtype: str) -> list[Listing]:
    """Each variant at its largest counted size and its middle launch shape."""
    lines: dict[str, list[SourceLine]] = defaultdict(list)
    for record in run.of(SourceLine):
        lines[record.case].append(record)
    cases: dict[str, list[Planned]] = defaultdict(list)
    for p in run.planned.values():
        if (p.problem, p.dtype) == (problem, dtype) and p.case in lines:
            cases[p.variant].append(p)
    found = []
    for shapes in cases.values():
        most = max(p.bytes for p in shapes)
        largest = [p for p in shapes if p.bytes == most]
        found.append(_listing(run, largest[len(largest) // 2], lines))
    return found


def _listing(run: Run, p: Planned, lines: dict[str, list[SourceLine]]) -> Listing:
    """The file that has most of the instructions, in the step that has most of them."""
    own = lines[p.case]
    per_step: dict[int, int] = defaultdict(int)
    for line in own:
        per_step[line.step] += line.warps
    step = max(per_step, key=per_step.__getitem__)
    file, costs = next(iter(annotate.by_file(own, step).items()))
    name = next((n for n in run.info.get("sources") or {} if file.endswith(n)), file)
    source = as_it_was(run, name)
    shown = [] if source.missing else annotate.annotated(source.content, costs)
    where = fmt.assignments({**p.sizes, **p.launch})
    used = annotate.used(shown)
    rows = []
    for each in shown:
        cells = annotate.cells(each.cost)
        rows.append(
            Row(each.number, tuple(cells[i] for i in used), each.text, ", ".join(each.marks))
        )
    title = f"{name}, {p.kernels[step]} at {where}"
    marked = sum(bool(row.marks) for row in rows)
    columns = [annotate.COLUMNS[i] for i in used]
    return Listing(slug(f"source-{p.case}"), title, marked, columns, rows, source.missing)
