"""One section a problem and dtype: what was measured, and why it is so, in the page's order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.analysis.quantities import Readings
from harness.analysis.roofline import Roofline, roofline
from harness.records import Planned
from harness.report import cells, counted, drawn
from harness.report import format as fmt
from harness.report.anchors import short_names, slug
from harness.report.annotated import Listing, listings
from harness.report.cells import Table
from harness.report.counter_cells import derived_table
from harness.report.explained import Explanation, explanations
from harness.report.ladder import Ladder
from harness.report.style import Figure
from harness.tables import Run


@dataclass(frozen=True)
class Roofed:
    """A roofline with what is wrong with it, and what is not in it."""

    figure: Figure
    errors: list[str]
    absent: list[str]


@dataclass(frozen=True)
class Section:
    """One problem and dtype, in the order that the page shows it."""

    anchor: str
    title: str
    steps: list[tuple[Figure, Table]]
    """A ladder a size: its figure and its table."""
    figures: list[Figure]
    rooflines: list[Roofed]
    why: list[Explanation]
    counts: list[Table]
    """What the counters say, a table a size."""
    counted: list[Figure]
    stalls: Figure | None
    listings: list[Listing]
    """Each variant's source with what its lines cost, where an emulator counted them."""
    cases: Table


def sections(run: Run, readings: Readings, rungs: list[Ladder]) -> list[Section]:
    found: list[Section] = []
    problems = run.info.get("problems") or {}
    every = counted.groups(readings)
    for problem, dtype in dict.fromkeys((p.problem, p.dtype) for p in run.planned.values()):
        about = problems.get(problem) or {}
        title = f"{problem} ({dtype})"
        if about.get("title"):
            title += f": {about['title']}"
        own = [x for x in rungs if (x.problem, x.dtype) == (problem, dtype)]
        groups = [g for g in every if g.key[:2] == (problem, dtype)]
        folder = run.folder
        found.append(
            Section(
                slug(f"{problem}-{dtype}"),
                title,
                [(drawn.ladder_figure(folder, x), cells.ladder_table(x)) for x in own if x.rungs],
                drawn.timed_figures(run, own) if own else [],
                _rooflines(readings, own),
                explanations(readings, problem, dtype),
                [derived_table(g) for g in groups],
                drawn.counter_figures(folder, groups[0]) if groups else [],
                drawn.stall_figure(folder, readings, groups[0]) if groups else None,
                listings(run, problem, dtype),
                cells.case_table(run, problem, dtype),
            )
        )
    return found


def _rooflines(readings: Readings, own: list[Ladder]) -> list[Roofed]:
    """At every size whose bytes were counted; else at the largest."""
    ranked = [x for x in own if x.rungs]
    full = [
        x for x in ranked if any(r.planned.case in readings.counted for r in x.rungs)
    ] or ranked[:1]
    found = []
    for ladder in full:
        shown = [*ladder.rungs, *([ladder.library] if ladder.library else [])]
        title = f"Roofline: {ladder.problem} at {fmt.assignments(ladder.sizes)}"
        shorts = {r.planned.case: r.short for r in shown}
        cases = [r.planned for r in shown]
        chart = roofline(readings, title, slug("-".join(ladder.key)), cases, shorts)
        best = ladder.winner.short if ladder.winner else ""
        found += _roofed(readings.run.folder, chart, best)
    return found


def overview(readings: Readings, rungs: list[Ladder]) -> list[Roofed]:
    """One roofline for all problems, where there are several: each one's fastest, and library."""
    shown: list[Planned] = []
    shorts: dict[str, str] = {}
    for pair in dict.fromkeys((x.problem, x.dtype) for x in rungs):
        largest = next((x for x in rungs if (x.problem, x.dtype) == pair and x.winner), None)
        if largest is None or largest.winner is None:
            continue
        for rung in filter(None, (largest.winner, largest.library)):
            shown.append(rung.planned)
            shorts[rung.planned.case] = f"{largest.problem} {rung.short}"
    if len({p.problem for p in shown}) < 2:
        return []
    heads = short_names(list(dict.fromkeys(p.dtype for p in shown)))
    if len(heads) > 1:
        shorts = {p.case: f"{shorts[p.case]} {p.dtype}" for p in shown}
    chart = roofline(readings, "Roofline: all problems", "all", shown, shorts)
    return _roofed(readings.run.folder, chart, "")


def _roofed(folder: Path, chart: Roofline, best: str) -> list[Roofed]:
    if not chart.kernels:
        return []
    absent = [f"{name}: {why}" for name, why in chart.absent.items()]
    return [Roofed(drawn.roofline_figure(folder, chart, best), chart.errors, absent)]
