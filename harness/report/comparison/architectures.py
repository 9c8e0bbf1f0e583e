"""A matrix on several architectures side by side, as tables for the terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from harness.analysis.architectures import Beside, beside
from harness.analysis.readings import ORIGINS, Answer, Missing, Reading
from harness.journal import run_files
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.tables.cells import Cell, Column, Row, Table, named, none
from harness.tables import Run

PAGE = "architectures.html"
NONE = "–"
LABELS = frozenset(ORIGINS) - {"measured"}
"""Labels of counters; the compiler's figures need none."""


@dataclass(frozen=True)
class Line:
    """One figure of one variant: its value on each architecture."""

    variant: str
    figure: str
    answers: Sequence[Answer]

    @property
    def texts(self) -> list[str]:
        return [text(self.figure, answer) for answer in self.answers]


@dataclass(frozen=True)
class Problem:
    """The figures of a problem's variants, for one element type."""

    title: str
    lines: list[Line] = field(default_factory=list)

    def missing(self, arches: Sequence[str]) -> list[str]:
        """The distinct reasons why figures are missing."""
        found: dict[tuple[str, str], list[str]] = {}
        for line in self.lines:
            for arch, answer in zip(arches, line.answers, strict=True):
                if isinstance(answer, Missing):
                    own = found.setdefault((arch, answer.reason.splitlines()[0]), [])
                    own += [line.variant] * (line.variant not in own)
        return [f"{arch}: {', '.join(who)}: {why}" for (arch, why), who in found.items()]

    def labels(self, arches: Sequence[str]) -> list[str]:
        """Say how exact the counted figures are, once for all architectures that have the same
        labels."""
        found: dict[str, list[str]] = {}
        for at, arch in enumerate(arches):
            own: dict[str, dict[str, None]] = {}
            for line in self.lines:
                answer = line.answers[at]
                if isinstance(answer, Reading) and answer.provenance in LABELS:
                    own.setdefault(answer.provenance, {})[line.figure] = None
            told = "; ".join(f"{label}: {', '.join(figures)}" for label, figures in own.items())
            found.setdefault(told, []).append(arch)
        return [f"{', '.join(alike)}: {told}" for told, alike in found.items() if told]


@dataclass(frozen=True)
class Page:
    title: str
    labels: list[str]
    tables: list[tuple[Table, list[str], list[str]]]
    runs: list[str]


def problems(runs: Mapping[str, Run]) -> Iterator[Problem]:
    """Every problem's figures. `runs`: by architecture."""

    def which(each: Beside) -> tuple[str, str]:
        return each.planned.problem, each.planned.dtype

    for (problem, dtype), each_figure in groupby(sorted(beside(runs), key=which), which):
        found = list(each_figure)
        sizes = dict.fromkeys(fmt.assignments(each.planned.sizes) for each in found)
        alike = len(sizes) == 1
        made = Problem(f"{problem} ({dtype})" + (f" at {next(iter(sizes))}" if alike else ""))
        for each in found:
            own = "" if alike else f" at {fmt.assignments(each.planned.sizes)}"
            made.lines.append(Line(each.planned.variant + own, each.figure, each.answers))
        yield made


def text(figure: str, answer: Answer) -> str:
    """The formatted value; `~` marks an inexact one."""
    if isinstance(answer, Missing):
        return NONE
    shown = fmt.percent(100 * answer.value) if figure == "occupancy" else fmt.count(answer.value)
    return shown if answer.judges else f"~{shown}"


def write(runs: Mapping[str, Run], labels: Sequence[str], folder: Path) -> Path:
    """Write architectures.html to a folder with one run per architecture; return its path.

    `labels`: how exact the counters of each architecture are.
    """
    from harness.report import site  # plotting takes a second to import

    arches = list(runs)
    tables = [
        (_table(each, arches), each.labels(arches), each.missing(arches)) for each in problems(runs)
    ]
    page = Page(", ".join(arches), list(labels), tables, [f"{a}/report.html" for a in arches])
    drawn = site.alone("architectures.html.j2", next(iter(runs.values())), page=page)
    run_files.write(folder, PAGE, drawn)
    return folder / PAGE


def _table(problem: Problem, arches: Sequence[str]) -> Table:
    columns = [Column("variant", numeric=False), Column("figure", numeric=False)]
    table = Table(slug(problem.title), problem.title, [*columns, *map(Column, arches)])
    for line in problem.lines:
        cells = [_cell(line.figure, answer) for answer in line.answers]
        table.rows.append(Row([named(line.variant), Cell(line.figure), *cells]))
    return table


def _cell(figure: str, answer: Answer) -> Cell:
    if isinstance(answer, Missing):
        return none(title=answer.reason)
    return Cell(text(figure, answer), answer.value, answer.provenance)
