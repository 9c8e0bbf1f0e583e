"""One problem and size over many runs: a line per variant, with a ring at each new level."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.comparison.history import Series
from harness.report.figures.sheet.axes import SMALL, Scale
from harness.report.figures.sheet.items import ASCENT, DESCENT, Line, Sheet, Text
from harness.report.figures.style import Layout, canvas, cut, spread, text_width

_COLOURS = ("accent", "s1", "s2", "s3", "s4", "library")


def draw_trend(
    series: Sequence[Series], labels: Sequence[str], unit: str, relative: bool, layout: Layout
) -> Sheet:
    """`relative`: draw values in per cent of each variant's first value; otherwise unchanged."""
    changed = [s for s in series if s.levels][: len(_COLOURS)]
    roles = {id(s): role for s, role in zip(changed, _COLOURS, strict=False)}
    names = [cut(s.case.variant, layout) for s in changed]
    right = text_width(max(names, key=len, default=""), 8) + 0.35
    height = max(3.0, 1.3 + 0.2 * len(changed))
    drawn = [(s, _values(s, relative)) for s in series]
    values = [y for _, ys in drawn for y in ys]
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    last = max(len(labels) - 1, 1)
    axes = canvas(layout, height, 0.68, right, 0.25, 0.85,
                  Scale(0, last), Scale(low - margin, high + margin))  # fmt: skip
    every = max(1, len(labels) // (5 if layout.narrow else 14))
    for i in range(0, len(labels), every):
        axes.sheet.add(_turned(labels[i], axes.across(i), axes.frame.bottom - 3.5))
    axes.y_ticks(lambda value: f"{value:,.4g}", unit)
    axes.edges("left", "bottom")
    ends: list[float] = []
    for s, ys in drawn:
        xs = [p.run for p in s.points]
        role = roles.get(id(s), "faint")
        thin = role == "faint"
        width, size, above = (1.0, 2.5, 2) if thin else (1.8, 3.5, 3)
        points = list(zip(xs, ys, strict=True))
        axes.line(points, role, width, clip=False, z=above)
        for point in points:
            axes.mark(*point, "o", size, role, within=None, z=above)
        for at in s.levels:
            axes.mark(xs[at], ys[at], "o", 10, "failed", edge=1.6, hollow=True, within=None, z=4)
        if not thin:
            ends.append(ys[-1])
    gap = (high - low + 2 * margin) * 0.16 / (height - 1.1)
    placed = spread(ends, gap, low - margin, high + margin)
    aside = last * (1.09 if layout.narrow else 1.035)
    for name, role, end, y in zip(names, roles.values(), ends, placed, strict=True):
        (x0, y0), (x1, y1) = axes.at(last, end), axes.at(aside, y)
        axes.sheet.add(Line([(x0 + 3, y0), (x1 - 2, y1)], role, 1.4, z=3))
        axes.text(aside, y, name, "ink", size=SMALL)
    return axes.sheet


_ANGLE = 40.0


def _turned(text: str, x: float, y: float) -> Text:
    """A tick label that rises to its tick: no corner of it is to the right of the tick or above y.

    The upper right corner is the highest, the lower right corner the farthest to the right.
    """
    cos, sin = math.cos(math.radians(_ANGLE)), math.sin(math.radians(_ANGLE))
    end = x - sin * DESCENT * SMALL, y - cos * ASCENT * SMALL
    return Text(text, end, "muted", SMALL, "end", "baseline", angle=_ANGLE)


def _values(s: Series, relative: bool) -> list[float]:
    first = s.points[0].value
    return [100 * (p.value / first - 1) if relative else p.value for p in s.points]
