"""One problem and size over many runs: a line per variant, with a ring at each new level."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure as Canvas

from harness.comparison.history import Series
from harness.report.figures.style import LIGHT, Layout, canvas, cut, grid, spread, text_width

C = LIGHT
_COLOURS = ("accent", "s1", "s2", "s3", "s4", "library")


def draw_trend(
    series: Sequence[Series], labels: Sequence[str], unit: str, relative: bool, layout: Layout
) -> Canvas:
    """`relative`: draw values as percentages of each variant's first value; otherwise, draw them
    unchanged."""
    changed = [s for s in series if s.levels][: len(_COLOURS)]
    roles = {id(s): role for s, role in zip(changed, _COLOURS, strict=False)}
    names = [cut(s.case.variant, layout) for s in changed]
    right = text_width(max(names, key=len, default=""), 8) + 0.35
    height = max(3.0, 1.3 + 0.2 * len(changed))
    figure, axes = canvas(layout, height, 0.68, right, 0.25, 0.85)
    drawn = [(s, _values(s, relative)) for s in series]
    values = [y for _, ys in drawn for y in ys]
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(0, max(len(labels) - 1, 1))
    every = max(1, len(labels) // (5 if layout.narrow else 14))
    ticks = range(0, len(labels), every)
    axes.set_xticks(list(ticks), [labels[i] for i in ticks], rotation=40, ha="right")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.4g}")
    grid(axes, "y")
    ends: list[float] = []
    for s, ys in drawn:
        xs = [p.run for p in s.points]
        role = roles.get(id(s), "faint")
        thin = role == "faint"
        width, size, above = (1.0, 2.5, 2) if thin else (1.8, 3.5, 3)
        axes.plot(xs, ys, color=C[role], linewidth=width, marker="o", markersize=size,
                  zorder=above, clip_on=False)  # fmt: skip
        for at in s.levels:
            axes.plot(xs[at], ys[at], marker="o", markersize=10, markerfacecolor="none",
                      markeredgecolor=C["failed"], markeredgewidth=1.6, clip_on=False,
                      zorder=4)  # fmt: skip
        if not thin:
            ends.append(ys[-1])
    gap = (high - low + 2 * margin) * 0.16 / (height - 1.1)
    placed = spread(ends, gap, low - margin, high + margin)
    last = max(len(labels) - 1, 1)
    aside = last * (1.09 if layout.narrow else 1.035)
    for name, role, end, y in zip(names, roles.values(), ends, placed, strict=True):
        line = {"arrowstyle": "-", "color": C[role], "linewidth": 1.4, "shrinkA": 1, "shrinkB": 3}
        axes.annotate(name, (last, end), xytext=(aside, y), va="center", fontsize=8,
                      color=C["ink"], annotation_clip=False, arrowprops=line)  # fmt: skip
    axes.set_ylabel(unit)
    return figure


def _values(s: Series, relative: bool) -> list[float]:
    first = s.points[0].value
    return [100 * (p.value / first - 1) if relative else p.value for p in s.points]
