"""The ladder as a chart: each variant's rate, with the ceiling and the libraries."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from harness.analysis.ladder import Ladder, Rung, Unranked
from harness.report import format as fmt
from harness.report.figures.style import LIGHT, WIDE, Layout, canvas, cut, grid, text_width

C = LIGHT
_PATCH = {"facecolor": C["panel"], "edgecolor": "none", "pad": 0.5}
"""The background behind text that a line may cross."""


def draw_ladder(ladder: Ladder, layout: Layout) -> Canvas:
    """Draw bars with intervals, the first rung on top, and the ceiling and the libraries as dashed
    lines.

    Numbers are in separate columns on the right, clear of every line.
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
    figure, axes = canvas(layout, rows * step + top + 0.55, left, right, top, 0.55)
    most = max([r.rate.high for r in ladder.rungs] + [m[0] for m in marks]) * 1.02
    axes.set_xlim(0, most)
    axes.set_ylim(rows - 0.45, -0.55)
    grid(axes)
    _bars(axes, ladder, layout)
    for row, rung in enumerate(ladder.rows):
        if isinstance(rung, Rung):
            _numbers(axes, ladder, rung, row, names[row] if layout.narrow else "")
            continue
        why = "failed: not ranked" if rung.failed else "not timed"
        name = f"{names[row]}: " if layout.narrow else ""
        axes.text(most * 0.005, row, name + why, va="center", fontsize=8, color=C["failed"],
                  zorder=5, bbox=_PATCH)  # fmt: skip
    if layout.narrow:
        axes.set_yticks([])
    else:
        axes.set_yticks(range(rows), names)
        _beside(axes, -0.95, 0.55, ladder.measure.unit, "muted")
        if steps:
            _beside(axes, -0.95, 1.6, "longest launch", "muted")
    for level, (value, text, role) in enumerate(marks):
        axes.axvline(value, color=C[role], linestyle=(0, (4, 3)), linewidth=1.2, zorder=4)
        after = value < most * 0.5
        axes.annotate(
            f"{cut(text, layout)} {fmt.three(value)}", (value, 1),
            xycoords=("data", "axes fraction"),
            xytext=(2 if after else -2, 4 + 11 * (len(marks) - 1 - level)),
            textcoords="offset points", ha="left" if after else "right", color=C[role],
            va="bottom",
        )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"{ladder.measure.name}, {ladder.measure.unit}")
    return figure


def _marks(ladder: Ladder) -> list[tuple[float, str, str]]:
    """The dashed lines: position, label and colour role."""
    limit = ladder.measure.limit
    found = [(limit.value, ladder.measure.bound, "muted")] if limit else []
    return found + [(r.rate.value, r.planned.variant, "library") for r in ladder.libraries]


def _beside(
    axes: Axes, row: float, inches: float, text: str, role: str, bold: bool = False
) -> None:
    """Write text so that it ends this many inches to the right of the axes."""
    axes.annotate(
        text, (1, row), xycoords=("axes fraction", "data"), xytext=(72 * inches, 0),
        textcoords="offset points", ha="right", va="center", color=C[role],
        fontweight="bold" if bold else "normal", annotation_clip=False,
    )  # fmt: skip


def _bars(axes: Axes, ladder: Ladder, layout: Layout) -> None:
    """Draw all bars, each with its interval, and a mark for the rate of the longest launch
    alone."""
    ranked = [(row, rung) for row, rung in enumerate(ladder.rows) if isinstance(rung, Rung)]
    lower, height = (0.18, 0.38) if layout.narrow else (0.0, 0.7)
    centres = [row + lower for row, _ in ranked]
    values = [rung.rate.value for _, rung in ranked]
    axes.barh(centres, values, height, color=[C[role_of(ladder, rung)] for _, rung in ranked])
    axes.hlines(centres, [rung.rate.low for _, rung in ranked],
                [rung.rate.high for _, rung in ranked], color=C["ink"], linewidth=1.6)  # fmt: skip
    most = axes.get_xlim()[1]
    alone = [(centre, rung.rate.value, min(rung.longest_rate, most))
             for centre, (_, rung) in zip(centres, ranked, strict=True)
             if rung.longest_rate is not None]  # fmt: skip
    if alone:
        ys, starts, ends = zip(*alone, strict=True)
        axes.vlines(ends, [y - height / 2 for y in ys], [y + height / 2 for y in ys],
                    color=C["ink"], linewidth=1)  # fmt: skip
        axes.hlines(ys, starts, ends, color=C["muted"], linewidth=0.7, linestyle=":")


def _numbers(axes: Axes, ladder: Ladder, rung: Rung, row: int, name: str) -> None:
    """Write the numbers to the right of a bar. `name`: the text above the bar in the narrow
    drawing."""
    value, bold = fmt.three(rung.rate.value), role_of(ladder, rung) == "accent"
    if name:
        weight = "bold" if bold else "normal"
        axes.text(0, row - 0.22, name, va="center", fontsize=8, fontweight=weight,
                  zorder=5, bbox=_PATCH)  # fmt: skip
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
