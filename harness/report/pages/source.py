"""Each variant's source with the cost of its lines, as the emulator counted it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.lines import machine_lines
from harness.analysis.lines import source_lines as annotate
from harness.analysis.lines.sources import as_it_was
from harness.journal.counter_records import SourceLine
from harness.journal.records import Planned
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.statistics.net_times import group_of
from harness.tables import Run


@dataclass(frozen=True)
class Row:
    """A source line: its cost in cells, each empty if there is none."""

    number: int
    cells: tuple[str, ...]
    text: str
    marks: str
    machine_code: tuple[str, ...] = ()
    """The text of each of its machine instructions, under the listing's heading."""


@dataclass(frozen=True)
class Listing:
    """A file of a variant; `missing` says why it cannot be shown."""

    anchor: str
    title: str
    marked: int
    columns: list[tuple[str, str]]
    """The name and meaning of each cell in a row."""
    rows: list[Row]
    missing: str
    heading: str = ""
    """The heading of the machine instructions; empty if none were executed."""
    variant: str = ""


def listings(run: Run, problem: str, dtype: str, folder: Path | None = None) -> list[Listing]:
    """Each variant at its largest counted size, and at the launch shape at which it is shown.

    `folder`: the kernels/ folder with the files; by default the one in the working folder.
    """
    lines = run.lines
    cases: dict[str, list[Planned]] = defaultdict(list)
    for p in run.planned.values():
        if (p.problem, p.dtype) == (problem, dtype) and p.case in lines:
            cases[p.variant].append(p)
    found: list[Listing] = []
    for variant, shapes in cases.items():
        largest = max(shapes, key=lambda p: p.bytes)
        shown = run.timings.shape(group_of(largest), variant)
        p = shown if shown in shapes else largest
        found += _listings(run, p, lines[p.case], folder)
    return found


HEADER_SHARE = 0.2
"""An included header is shown too if it has at least this share of the instructions."""


def _listings(
    run: Run, p: Planned, lines: Sequence[SourceLine], folder: Path | None
) -> Iterator[Listing]:
    """List the sources of the step with the most instructions: the variant's file, and headers that
    matter."""
    per_step: dict[int, int] = defaultdict(int)
    for line in lines:
        per_step[line.step] += line.warps
    step = max(per_step, key=per_step.__getitem__)
    files = annotate.by_file(lines, step)
    names = {file: _name(run, file) for file in files}
    made = run.compiled.get(p.case, [])
    sources = run.info.get("sources") or {}
    own = [f for f, n in names.items() if made and sources.get(n) == made[0].source_sha256]
    first = own[:1] or list(files)[:1]
    for file in sorted(files, key=lambda file: file not in first):
        costs = files[file]
        part = sum(cost.warps for cost in costs.values()) / max(per_step[step], 1)
        if file in first or part >= HEADER_SHARE:
            yield _listing(run, p, step, names[file], costs, folder)


def _name(run: Run, file: str) -> str:
    """The name of a file in run.json: the longest name with which its path ends."""
    known = [name for name in run.info.get("sources") or {} if f"/{file}".endswith(f"/{name}")]
    return max(known, key=len, default=file)


def _listing(
    run: Run, p: Planned, step: int, name: str, costs: Mapping[int, SourceLine],
    folder: Path | None,
) -> Listing:  # fmt: skip
    source = as_it_was(run, name, folder)
    shown = [] if source.missing else annotate.annotated(source.content, costs)
    file = next(iter(costs.values())).file
    machine = machine_lines.by_line(run.machine_code.get(p.case, ()), step, file)
    used = annotate.used(shown)
    rows = []
    for each in shown:
        cells = annotate.cells(each.cost)
        rows.append(
            Row(
                each.number,
                tuple(cells[i] for i in used),
                each.text,
                ", ".join(each.marks),
                tuple(map(machine_lines.text, machine.get(each.number, ()))),
            )
        )
    kernel = p.kernels[step] if step < len(p.kernels) else f"launch {step + 1}"
    own = "" if p.variant in name else f"{p.variant}: "
    title = f"{own}{name}, {kernel} at {fmt.assignments({**p.sizes, **p.launch})}"
    marked = sum(bool(row.marks) for row in rows)
    columns = [annotate.COLUMNS[i] for i in used]
    anchor = slug(f"source-{p.case}-{name}")
    heading = machine_lines.HEADING if machine else ""
    return Listing(anchor, title, marked, columns, rows, source.missing, heading, p.variant)
