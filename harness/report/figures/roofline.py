"""The roofline chart: roofs, and each kernel's points at one height, by memory level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from harness.analysis.roofline import Kernel, Level, Roof, Roofline
from harness.report import format as fmt
from harness.report.figures.labels import Box, Placed, place
from harness.report.figures.style import LIGHT, Layout, canvas, cut, spread, text_width

C = LIGHT
MARKS: dict[Level, tuple[str, str, str]] = {
    "compulsory": ("o", "muted", "compulsory bytes"),
    "DRAM": ("o", "accent", "DRAM bytes"),
    "L2": ("s", "s1", "L2 bytes"),
    "L1": ("^", "s2", "L1 bytes"),
}
"""Level → marker, colour, and name in the key. The compulsory marker is hollow."""


@dataclass(frozen=True)
class Frame:
    """The range of the axes: intensity in flop/byte, rate in flop/s."""

    left: float
    right: float
    bottom: float
    top: float


def frame_of(chart: Roofline) -> Frame:
    """Choose a range that contains every point and the corner where the roofs meet or, if no peak
    rate is known, the memory roof above the points."""
    spots = [s.intensity for k in chart.kernels for s in k.spots]
    rates = [k.rate.value for k in chart.kernels]
    peak, memory = _peak(chart.roofs), _memory(chart.roofs)
    right = max(spots) * 8
    if peak and memory:
        right = max(right, 2.5 * peak / min(r.value.value for r in memory))
    top = max(rates) * 4
    if peak:
        top = max(top, peak * 1.8)
    elif memory:
        top = max(top, 1.8 * max(spots) * memory[0].value.value)
    return Frame(min(spots) / 3, right, min(rates) / 2.2, top)


def _peak(roofs: Sequence[Roof]) -> float | None:
    return max((r.value.value for r in roofs if r.level is None), default=None)


def _memory(roofs: Sequence[Roof]) -> list[Roof]:
    """The memory roofs from the highest to the lowest, which is also their order from left to
    right."""
    return sorted((r for r in roofs if r.level), key=lambda r: -r.value.value)


def draw_roofline(chart: Roofline, layout: Layout, best: str = "") -> Canvas:
    """Draw the chart. `best`: the short name to set in bold."""
    keyed = [level for level in MARKS if any(k.at(level) is not None for k in chart.kernels)]
    rows = _key_rows(keyed, layout)
    figure, axes = canvas(layout, 5.6, 0.75, 0.15,
                          0.12 + 0.2 * len(rows), 0.5)  # fmt: skip
    frame = frame_of(chart)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(frame.left, frame.right)
    axes.set_ylim(frame.bottom, frame.top)
    axes.minorticks_off()
    axes.grid(color=C["grid"], linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: _fraction(value))
    axes.yaxis.set_major_formatter(lambda value, _: _rate(value))
    axes.set_xlabel("Arithmetic intensity, flop/byte")
    axes.set_ylabel("Rate, flop/s")
    _key(axes, rows)
    taken = _roofs(figure, axes, chart, frame, layout.narrow)
    for kernel in chart.kernels:
        _points(axes, kernel)
    _names(figure, axes, chart, taken, best, layout)
    return figure


def _fraction(value: float) -> str:
    """Format as 1/4 rather than 0.25, because the axis is in powers of two."""
    return f"1/{1 / value:.0f}" if value < 1 else f"{value:g}"


def _rate(value: float) -> str:
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= scale:
            return f"{value / scale:g} {unit}"
    return f"{value:g}"


def _bandwidth(value: float) -> str:
    scale, unit = (1e12, "TB/s") if value >= 1e12 else (1e9, "GB/s")
    return f"{fmt.three(value / scale)} {unit}"


def _key_rows(levels: list[Level], layout: Layout) -> list[list[Level]]:
    return [levels[i : i + 2] for i in range(0, len(levels), 2)] if layout.narrow else [levels]


def _key(axes: Axes, rows: list[list[Level]]) -> None:
    width, height = _size(axes)
    for i, row in enumerate(rows):
        x, y = 8.0, height + 8.0 + 14.4 * (len(rows) - 1 - i)
        for level in row:
            marker, role, text = MARKS[level]
            axes.plot([x / width], [y / height], marker, transform=axes.transAxes, clip_on=False,
                      markersize=5.5, color=C[role], markeredgewidth=1.3,
                      markerfacecolor="none" if level == "compulsory" else C[role])  # fmt: skip
            axes.text((x + 7) / width, y / height, text, transform=axes.transAxes, va="center",
                      fontsize=8, color=C["muted"])  # fmt: skip
            x += 72 * text_width(text, 8) + 24


def _size(axes: Axes) -> tuple[float, float]:
    """The axes' width and height in points."""
    figure = axes.figure
    assert isinstance(figure, Canvas)
    width, height = figure.get_size_inches()
    box = axes.get_position()
    return 72 * width * box.width, 72 * height * box.height


def _at(figure: Canvas, axes: Axes, x: float, y: float) -> tuple[float, float]:
    """Convert data coordinates to typographic points within the axes."""
    left, bottom = axes.transAxes.transform((0, 0))
    px, py = axes.transData.transform((x, y))
    scale = 72 / figure.dpi
    return (px - left) * scale, (py - bottom) * scale


def _roofs(figure: Canvas, axes: Axes, chart: Roofline, frame: Frame, narrow: bool) -> list[Box]:
    """Draw the roofs with their names; return the positions of the names."""
    peak, memory, taken = _peak(chart.roofs), _memory(chart.roofs), []
    limit = peak or frame.top
    for i, roof in enumerate(memory):
        bandwidth = roof.value.value
        end = min(limit / bandwidth, frame.right)
        start = max(frame.left, frame.bottom / bandwidth)
        axes.plot([start, end], [start * bandwidth, end * bandwidth], color=C["ink"],
                  linewidth=1.4 if roof.level == "DRAM" else 1.0, zorder=1.5,
                  linestyle="-" if roof.name == "read_bandwidth" else (0, (4, 3)))  # fmt: skip
        text = f"{roof.label} {_bandwidth(bandwidth)}"
        under = i > 0 and memory[i - 1].value.value < _APART * bandwidth
        taken += _along(figure, axes, (end, end * bandwidth), text, under)
    for roof in (r for r in chart.roofs if r.level is None):
        value = roof.value.value
        start = value / memory[0].value.value if memory else frame.left
        axes.plot([max(start, frame.left), frame.right], [value] * 2, color=C["ink"], zorder=1.5,
                  linewidth=1.4)  # fmt: skip
        text = f"{roof.label} {fmt.three(value / 1e12)} TFLOP/s"
        x, y = _at(figure, axes, frame.right, value)
        axes.annotate(text, (frame.right, value), xytext=(-3, 4), textcoords="offset points",
                      ha="right", va="bottom", fontsize=8, color=C["muted"])  # fmt: skip
        taken.append(Box(x - 72 * text_width(text, 8), y, x, y + 14))
    return taken


_APART = 1.6
"""Roofs closer than this factor leave no room between them: the lower one is labelled below its
line."""
_PATCH = {"facecolor": C["panel"], "edgecolor": "none", "pad": 0.8}


def _along(
    figure: Canvas, axes: Axes, end: tuple[float, float], text: str, under: bool
) -> list[Box]:
    """Write a roof's name along its slope, just before the upper end, above or below the line.

    Returns boxes that cover the name.
    """
    x1, y1 = _at(figure, axes, *end)
    x0, y0 = _at(figure, axes, end[0] / 2**8, end[1] / 2**8)
    angle = math.atan2(y1 - y0, x1 - x0)
    along, across = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
    wide, off = 72 * text_width(text, 8), -7.5 if under else 6.5
    middle = 14 + wide / 2
    x, y = (p - middle * a + off * n for p, a, n in zip((x1, y1), along, across, strict=True))
    axes.annotate(text, (x, y), xycoords="axes points", rotation=math.degrees(angle), ha="center",
                  va="center", rotation_mode="anchor", fontsize=8, color=C["muted"],
                  zorder=2)  # fmt: skip
    steps = max(int(wide // 9), 1)
    centres = [(k / steps - 0.5) * wide for k in range(steps + 1)]
    return [Box(x + c * along[0] - 7, y + c * along[1] - 7, x + c * along[0] + 7,
                y + c * along[1] + 7) for c in centres]  # fmt: skip


def _points(axes: Axes, kernel: Kernel) -> None:
    y = kernel.rate.value
    wrong = bool(kernel.above)
    spots = {s.level: s.intensity for s in kernel.spots}
    if len(spots) > 1:
        axes.plot([min(spots.values()), max(spots.values())], [y, y], color=C["faint"],
                  linewidth=0.9, zorder=2.2)  # fmt: skip
    if "compulsory" in spots and "DRAM" in spots:
        axes.plot([spots["DRAM"], spots["compulsory"]], [y, y], color=C["accent"], linewidth=1.8,
                  zorder=2.4, alpha=0.55)  # fmt: skip
    for order, level in enumerate(("L1", "L2", "DRAM", "compulsory")):
        if level not in spots:
            continue
        marker, role, _ = MARKS[level]
        colour, hollow = C["failed" if wrong else role], level == "compulsory"
        axes.plot([spots[level]], [y], marker, markersize=8 if hollow else 5, color=colour,
                  markeredgewidth=1.2 if hollow else 0.6, zorder=3 + order / 10,
                  markerfacecolor="none" if hollow else colour)  # fmt: skip


def _names(
    figure: Canvas, axes: Axes, chart: Roofline, taken: list[Box], best: str, layout: Layout
) -> None:
    width, height = _size(axes)
    wrong = " (above)" if layout.narrow else " (above its roof)"
    anchors = []
    obstacles = list(taken)
    for kernel in chart.kernels:
        spots = [_at(figure, axes, s.intensity, kernel.rate.value) for s in kernel.spots]
        obstacles += [Box(x - 4, y - 4, x + 4, y + 4) for x, y in spots]
        anchors.append(max(spots))
    texts = [cut(k.short, layout) + (wrong if k.above else "") for k in chart.kernels]
    sizes = [(72 * text_width(t, 8), 10.5) for t in texts]
    frame = Box(2, 2, width - 2, height - 2)
    best_at = next((i for i, k in enumerate(chart.kernels) if k.short == best), 0)
    xs = [x for x, _ in anchors]
    placed: list[Placed | None]
    if max(xs) - min(xs) < COLUMN:
        x = max(xs) + 26
        right = x + max(w for w, _ in sizes)
        barred = [(b.bottom, b.top) for b in taken if b.left < right and b.right > x]
        roofs = _roofs_between(figure, axes, chart, x, right)
        free = gaps([*barred, *roofs], frame.bottom, frame.top)
        if len(anchors) > sum(map(lines_in, free)):  # a label on a roof is better than none
            free = gaps(barred, frame.bottom, frame.top)
        placed = column(anchors, x, free, best_at)
    else:
        placed = place(anchors, sizes, obstacles, frame)
    for kernel, text, spot, (wide, tall), at in zip(
        chart.kernels, texts, anchors, sizes, placed, strict=True
    ):
        if at is None:
            continue
        role = "failed" if kernel.above else "accent" if kernel.short == best else "ink"
        axes.annotate(text, (at.x, at.y + tall / 2), xycoords="axes points", va="center",
                      fontsize=8, color=C[role], zorder=5, bbox=_PATCH | {"pad": 0.3},
                      fontweight="bold" if kernel.short == best else "normal")  # fmt: skip
        if at.leader:
            edge = at.x - 1.5 if at.x > spot[0] else at.x + wide + 1.5
            axes.plot([(spot[0] + 5) / width, edge / width],
                      [spot[1] / height, (at.y + tall / 2) / height],
                      transform=axes.transAxes, color=C["faint"], lw=0.8, zorder=2)  # fmt: skip


COLUMN = 40.0
"""Markers that are within this many points of each other horizontally are labelled in one
column."""


def _roofs_between(
    figure: Canvas, axes: Axes, chart: Roofline, left: float, right: float
) -> list[tuple[float, float]]:
    """The heights that the roofs occupy between two positions, in points."""
    found = []
    peak = _peak(chart.roofs)
    highest = _at(figure, axes, 1.0, peak)[1] if peak else math.inf
    for roof in _memory(chart.roofs):
        (x0, y0), (x1, y1) = (_at(figure, axes, i, i * roof.value.value) for i in (1.0, 2.0))
        low, high = (y0 + (x - x0) * (y1 - y0) / (x1 - x0) for x in (left, right))
        if low < highest:
            found.append((low - 1, min(high, highest) + 1))
    return [*found, (highest - 1, highest + 1)] if peak else found


def gaps(
    barred: Iterable[tuple[float, float]], bottom: float, top: float
) -> list[tuple[float, float]]:
    """The gaps between bottom and top in which at least one line fits, the lowest first."""
    found, at = [], bottom
    for low, high in [*sorted(barred), (top, top)]:
        if min(low, top) - at >= LINE:
            found.append((at, min(low, top)))
        at = max(at, high)
    return found or [(bottom, top)]


def lines_in(gap: tuple[float, float]) -> int:
    """The number of labels that fit into a gap."""
    return int((gap[1] - gap[0]) / LINE)


def column(
    anchors: Sequence[tuple[float, float]],
    x: float,
    free: Sequence[tuple[float, float]],
    best: int,
) -> list[Placed | None]:
    """Write labels in a column to the right of the points, in order, as close as possible to the
    points' heights.

    If there are more labels than fit, the best kernel is labelled, and others at regular intervals.
    """
    rooms = [lines_in(each) for each in free]
    order = sorted(range(len(anchors)), key=lambda i: anchors[i][1])
    step = -(-len(order) // sum(rooms))
    named = [i for n, i in enumerate(reversed(order)) if n % step == 0 or i == best]
    left = sorted(named[: sum(rooms)], key=lambda i: anchors[i][1])
    placed: list[Placed | None] = [None] * len(anchors)
    for n, (bottom, top) in enumerate(free):
        due = sum(anchors[i][1] <= top for i in left)
        count = min(max(due, len(left) - sum(rooms[n + 1 :])), rooms[n])
        here, left = left[:count], left[count:]
        heights = [anchors[i][1] for i in reversed(here)]
        ys = spread(heights, LINE, bottom + LINE / 2, top - LINE / 2)
        for i, y in zip(reversed(here), ys, strict=True):
            placed[i] = Placed(x, y - 5.25, leader=True)
    return placed


LINE = 10.6
"""The height of a label, including the gap to the next, in points."""
