"""The ladder as a chart: each variant's rate, with the ceiling and the libraries."""

from __future__ import annotations

from harness.analysis.ladder import Ladder, Rung, Unranked
from harness.report import format as fmt
from harness.report.figures.sheet.axes import SMALL, Axes, Scale
from harness.report.figures.sheet.items import DOTTED, LONG, Sheet, Text
from harness.report.figures.style import WIDE, Layout, canvas, covering, cut, text_width

_PAD = 0.5
"""How far the background of text that a line may cross reaches beyond it."""


def draw_ladder(ladder: Ladder, layout: Layout) -> Sheet:
    """Draw bars with intervals, the first rung on top, and the ceiling and the libraries as dashed
    lines.

    Numbers are in separate columns at the right, clear of every line.
    """
    names = [
        cut(x.variant if isinstance(x, Unranked) else x.planned.variant, WIDE) for x in ladder.rows
    ]
    rows, step = len(names), 0.37 if layout.narrow else 0.27
    left = 0.1 if layout.narrow else text_width(max(names, key=len)) + 0.15
    steps = any(r.steps for r in ladder.rungs)
    right = 0.5 if layout.narrow else 1.75 if steps else 0.7
    marks = _marks(ladder)
    top = 0.2 + 0.16 * len(marks)
    most = max([r.rate.high for r in ladder.rungs] + [m[0] for m in marks]) * 1.02
    axes = canvas(layout, rows * step + top + 0.55, left, right, top, 0.55,
                  Scale(0, most), Scale(rows - 0.45, -0.55))  # fmt: skip
    _bars(axes, ladder, layout)
    for row, rung in enumerate(ladder.rows):
        if isinstance(rung, Rung):
            _numbers(axes, ladder, rung, row, names[row] if layout.narrow else "")
            continue
        why = "failed: not ranked" if rung.failed else "not timed"
        name = f"{names[row]}: " if layout.narrow else ""
        at = axes.at(most * 0.005, row)
        covering(axes.sheet, Text(name + why, at, "failed", SMALL, z=5), _PAD)
    if not layout.narrow:
        axes.y_names(names)
        _beside(axes, -0.95, 0.55, ladder.measure.unit, "muted")
        if steps:
            _beside(axes, -0.95, 1.6, "longest launch", "muted")
    for level, (value, text, role) in enumerate(marks):
        axes.line([(value, rows - 0.45), (value, -0.55)], role, 1.2, dashes=LONG, z=4)
        after = value < most * 0.5
        by = 2 if after else -2, 4 + 11 * (len(marks) - 1 - level)
        axes.offset((axes.across(value), axes.frame.top), by,
                    f"{cut(text, layout)} {fmt.three(value)}", role, up="bottom",
                    across="start" if after else "end")  # fmt: skip
    axes.x_ticks(lambda value: f"{value:,.0f}")
    axes.edges("bottom")
    axes.x_title(f"{ladder.measure.name}, {ladder.measure.unit}")
    return axes.sheet


def _marks(ladder: Ladder) -> list[tuple[float, str, str]]:
    """The dashed lines: position, label and colour role."""
    limit = ladder.measure.limit
    found = [(limit.value, ladder.measure.bound, "muted")] if limit else []
    return found + [(r.rate.value, r.planned.variant, "library") for r in ladder.libraries]


def _beside(
    axes: Axes, row: float, inches: float, text: str, role: str, bold: bool = False
) -> None:
    """Write text so that it ends this many inches to the right of the axes."""
    at = axes.frame.right, axes.up(row)
    axes.offset(at, (72 * inches, 0), text, role, across="end", bold=bold)


def _bars(axes: Axes, ladder: Ladder, layout: Layout) -> None:
    """Draw all bars, each with its interval, and a mark for the rate of the longest launch
    alone."""
    ranked = [(row, rung) for row, rung in enumerate(ladder.rows) if isinstance(rung, Rung)]
    lower, height = (0.18, 0.38) if layout.narrow else (0.0, 0.7)
    most = axes.x.high
    for row, rung in ranked:
        rate, y = rung.rate, row + lower
        axes.bar(y, 0, rate.value, height, role_of(ladder, rung))
        axes.line([(rate.low, y), (rate.high, y)], "ink", 1.6, square=False)
        if rung.longest_rate is not None:
            end = min(rung.longest_rate, most)
            axes.line([(end, y - height / 2), (end, y + height / 2)], "ink", 1, square=False)
            axes.line([(rate.value, y), (end, y)], "muted", 0.7, dashes=DOTTED)


def _numbers(axes: Axes, ladder: Ladder, rung: Rung, row: int, name: str) -> None:
    """Write the numbers to the right of a bar. `name`: the text above the bar in the narrow
    drawing."""
    value, bold = fmt.three(rung.rate.value), role_of(ladder, rung) == "accent"
    if name:
        at = axes.at(0, row - 0.22)
        covering(axes.sheet, Text(name, at, "ink", SMALL, bold=bold, z=5), _PAD)
        _beside(axes, row + 0.1, 0.45, value, "ink", bold)
        return
    _beside(axes, row, 0.55, value, "ink", bold)
    if rung.longest is not None:
        _beside(axes, row, 1.6, fmt.percent(100 * rung.longest), "muted")


def role_of(ladder: Ladder, rung: Rung) -> str:
    """The colour of a rung: one accent for the fastest, grey for the baseline."""
    if rung is ladder.winner or rung in ladder.tied:
        return "accent"
    if rung.planned.is_library:
        return "library"
    return "baseline" if rung is ladder.baseline else "other"
