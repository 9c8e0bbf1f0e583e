"""Show a run in a notebook, in addition to its tables: its ladder, its rooflines, its annotated
sources.

A notebook has none of the page's style, so figures are images, and tables carry their own style.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape as escape_markup
from pathlib import Path

from harness.analysis.ladder import Ladder, ladders
from harness.analysis.readings import Readings
from harness.analysis.roofline import roofline
from harness.console import escaping
from harness.journal import run_files
from harness.report.anchors import slug
from harness.report.figures import drawn
from harness.report.figures.style import Figure
from harness.report.pages.source import Listing, listings
from harness.tables import Run

_MARKED = "background: rgba(230, 159, 0, 0.25)"
_CELL = "padding: 0 0.6em; text-align: right; color: #777"
_CODE = "padding: 0 0.6em; text-align: left; white-space: pre; font-family: monospace"


def figures(run: Run) -> str:
    """Draw the ladder and the roofline of each problem and type at its largest size, or the counts
    of a run without times."""
    return "".join(_picture(run, each) for each in _figures(run))


def sources(run: Run, kernels: Path, variant: str = "") -> str:
    """Show each kernel's source with the cost of its lines, where it was counted.

    `kernels`: the folder with the files. `variant`: show only this one.
    """
    pairs = dict.fromkeys((p.problem, p.dtype) for p in run.planned.values())
    found = (each for pair in pairs for each in listings(run, *pair, kernels))
    return "".join(_listing(each) for each in found if variant in ("", each.variant))


def _figures(run: Run) -> Iterator[Figure]:
    readings = Readings(run)
    for key in dict.fromkeys(group[:2] for group in run.groups()):
        if run.is_timed:
            own = [x for x in ladders(run) if x.key[:2] == key and x.rungs]
            if own:
                yield from _of_ladder(run, readings, max(own, key=lambda x: x.extent))
            continue
        groups = {g: cases for g, cases in run.groups().items() if g[:2] == key}
        largest = max(groups, key=lambda g: groups[g][0].bytes)
        shown = [p for p in run.timings.shown(largest) if p.case in readings.counted]
        found = drawn.counts_figure(readings, largest, shown) if len(shown) > 1 else None
        if found:
            yield found


def _of_ladder(run: Run, readings: Readings, ladder: Ladder) -> Iterator[Figure]:
    yield drawn.ladder_figure(run, ladder)
    shorts = {r.planned.case: r.short for r in ladder.everyone}
    cases = [r.planned for r in ladder.everyone]
    chart = roofline(readings, "Roofline", slug("-".join(ladder.key)), cases, shorts)
    if chart.kernels:
        yield drawn.roofline_of(run, ladder, chart)


def escape(said: str) -> str:
    return escape_markup(escaping.text(said))


def _picture(run: Run, figure: Figure) -> str:
    png = base64.b64encode(run_files.read(run.folder, figure.png)).decode()
    return (
        f"<img alt='{escape(figure.title)}' width='860' src='data:image/png;base64,{png}'>"
        f"<p>{escape(figure.caption)}</p>"
    )


def _listing(found: Listing) -> str:
    if found.missing:
        return f"<p>{escape(found.title)}: not shown, {escape(found.missing)}</p>"
    head = "".join(
        f"<th title='{escape(what)}'>{escape(name)}</th>" for name, what in found.columns
    )
    rows = "".join(
        f"<tr style='{_MARKED if row.marks else ''}' title='{escape(row.marks)}'>"
        f"<td style='{_CELL}'>{row.number}</td>"
        + "".join(f"<td style='{_CELL}'>{escape(cell)}</td>" for cell in row.cells)
        + f"<td style='{_CODE}'>{escape(row.text)}</td></tr>"
        for row in found.rows
    )
    marked = f", {found.marked} marked" if found.marked else ""
    return (
        f"<details><summary>{escape(found.title)}{marked}</summary><table style='font-size: 90%'>"
        f"<tr><th>line</th>{head}<th style='text-align: left'>source</th></tr>{rows}</table>"
        "</details>"
    )
