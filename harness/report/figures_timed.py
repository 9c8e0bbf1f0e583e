"""The figures of a timed run: the ladder, the rate over size, launch shape × variant."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Rectangle

from harness.records import Planned
from harness.report import format as fmt
from harness.report.ladder import Ladder, Rung, Unranked
from harness.report.style import LIGHT, Layout, canvas, grid, spread, text_width
from harness.tables import Run

C = LIGHT


def draw_ladder(ladder: Ladder, layout: Layout) -> Canvas:
    """Bars with intervals, first rung on top; the ceiling and the library as dashed lines.

    Numbers stand in columns of their own at the right, clear of every line.
    """
    names = [x.variant if isinstance(x, Unranked) else x.planned.variant for x in ladder.rows]
    rows, step = len(names), 0.37 if layout.narrow else 0.27
    left = 0.1 if layout.narrow else text_width(max(names, key=len)) + 0.15
    steps = any(r.steps for r in ladder.rungs)
    right = 0.5 if layout.narrow else 1.75 if steps else 0.7
    figure, axes = canvas(layout, rows * step + 1.05, left, right, 0.5, 0.55)
    limit = ladder.measure.limit
    marks = [(limit.value, ladder.measure.bound, "muted")] if limit else []
    if ladder.library:
        marks.append((ladder.library.rate.value, ladder.library.planned.variant, "library"))
    most = max([r.rate.high for r in ladder.rungs] + [m[0] for m in marks]) * 1.02
    axes.set_xlim(0, most)
    axes.set_ylim(rows - 0.45, -0.55)
    grid(axes)
    for row, rung in enumerate(ladder.rows):
        if isinstance(rung, Rung):
            _bar(axes, ladder, rung, row, layout)
            continue
        why = "failed: not ranked" if rung.failed else "not timed"
        name = f"{rung.variant}: " if layout.narrow else ""
        axes.text(
            most * 0.005,
            row,
            name + why,
            va="center",
            fontsize=8,
            color=C["failed"],
            zorder=5,
            bbox=_PATCH,
        )
    if layout.narrow:
        axes.set_yticks([])
    else:
        axes.set_yticks(range(rows), names)
        _beside(axes, -0.95, 0.55, ladder.measure.unit, "muted")
        if steps:
            _beside(axes, -0.95, 1.6, "longest launch", "muted")
    for level, (value, name, role) in enumerate(marks):
        axes.axvline(value, color=C[role], linestyle=(0, (4, 3)), linewidth=1.2, zorder=4)
        after = value < most * 0.5
        axes.annotate(
            f"{name} {fmt.three(value)}", (value, 1), xycoords=("data", "axes fraction"),
            xytext=(2 if after else -2, 15 - 11 * level), textcoords="offset points",
            ha="left" if after else "right", color=C[role], va="bottom",
        )  # fmt: skip
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"{ladder.measure.name}, {ladder.measure.unit}")
    return figure


def _beside(
    axes: Axes, row: float, inches: float, text: str, role: str, bold: bool = False
) -> None:
    """Text that ends so many inches right of the axes."""
    axes.annotate(
        text, (1, row), xycoords=("axes fraction", "data"), xytext=(72 * inches, 0),
        textcoords="offset points", ha="right", va="center", color=C[role],
        fontweight="bold" if bold else "normal", annotation_clip=False,
    )  # fmt: skip


def _bar(axes: Axes, ladder: Ladder, rung: Rung, row: int, layout: Layout) -> None:
    role = "other"
    if rung is ladder.winner or rung in ladder.tied:
        role = "accent"
    elif rung.planned.is_baseline:
        role = "baseline"
    centre, height = (row + 0.18, 0.38) if layout.narrow else (row, 0.7)
    value, bold, most = fmt.three(rung.rate.value), role == "accent", axes.get_xlim()[1]
    axes.barh(centre, rung.rate.value, height, color=C[role])
    axes.plot([rung.rate.low, rung.rate.high], [centre, centre], color=C["ink"], linewidth=1.6)
    if rung.longest_rate is not None:
        alone = min(rung.longest_rate, most)
        axes.plot([alone] * 2, [centre - height / 2, centre + height / 2], color=C["ink"], lw=1)
        axes.plot([rung.rate.value, alone], [centre, centre], color=C["muted"], lw=0.7, ls=":")
    if layout.narrow:
        weight = "bold" if bold else "normal"
        axes.text(0, row - 0.22, rung.planned.variant, va="center", fontsize=8, fontweight=weight,
                  zorder=5, bbox=_PATCH)  # fmt: skip
        _beside(axes, row + 0.1, 0.45, value, "ink", bold)
        return
    _beside(axes, row, 0.55, value, "ink", bold)
    if rung.longest is not None:
        _beside(axes, row, 1.6, fmt.percent(100 * rung.longest), "muted")


_PATCH = {"facecolor": C["panel"], "edgecolor": "none", "pad": 0.5}
"""Behind text that a line may cross."""


@dataclass(frozen=True)
class Line:
    """One variant's best rate at each size."""

    variant: str
    short: str
    role: str
    points: list[tuple[float, float]]


def lines_over_size(ladders: list[Ladder]) -> list[Line]:
    """Six at most in colour: the winners, the baseline, the library; the rest in grey."""
    by_variant: dict[str, list[tuple[float, Rung]]] = {}
    for ladder in sorted(ladders, key=_extent):
        for rung in [*ladder.rungs, *([ladder.library] if ladder.library else [])]:
            by_variant.setdefault(rung.planned.variant, []).append((_extent(ladder), rung))
    largest = max(ladders, key=_extent)
    winners = [lad.winner for lad in sorted(ladders, key=_extent, reverse=True) if lad.winner]
    ranked = sorted(largest.rungs, key=lambda r: r.time.value)
    notable = list(dict.fromkeys(r.planned.variant for r in (*winners, *ranked[:3])))
    plain = [v for v, found in by_variant.items() if _plain(found[0][1])]
    if len(by_variant) <= 6:
        notable += [v for v in plain if v not in notable]
    roles = dict(zip(notable[:5], ["accent", "s1", "s2", "s3", "s4"], strict=False))
    return [
        Line(
            variant,
            found[0][1].short,
            _role(found[0][1], roles),
            [(x, r.rate.value) for x, r in found],
        )
        for variant, found in by_variant.items()
    ]


def _plain(rung: Rung) -> bool:
    return not (rung.planned.is_library or rung.planned.is_baseline)


def _role(rung: Rung, roles: dict[str, str]) -> str:
    if rung.planned.is_library:
        return "library"
    if rung.planned.is_baseline:
        return "baseline"
    return roles.get(rung.planned.variant, "faint")


def axis_of(ladders: list[Ladder]) -> str:
    """The one size that varies, or else the compulsory bytes."""
    names = list(ladders[0].sizes)
    varying = [k for k in names if len({ladder.sizes[k] for ladder in ladders}) > 1]
    return varying[0] if len(varying) == 1 else "bytes"


def _extent(ladder: Ladder) -> float:
    if len(ladder.sizes) == 1:
        return float(next(iter(ladder.sizes.values())))
    everyone = [*ladder.rungs, *([ladder.library] if ladder.library else [])]
    return float(max((r.planned.bytes for r in everyone), default=0))


def draw_over_size(ladders: list[Ladder], layout: Layout) -> Canvas:
    """The best rate of each variant over size, labelled at the line's end."""
    lines, measure = lines_over_size(ladders), ladders[0].measure
    texts = [line.short if layout.narrow else line.variant for line in lines]
    right = text_width(max(texts, key=len), 8) + 0.25
    height = max(4.4, 0.9 + 0.155 * len(lines))
    figure, axes = canvas(layout, height, 0.68, right, 0.3, 0.5)
    xs = sorted({x for line in lines for x, _ in line.points})
    most = max(y for line in lines for _, y in line.points)
    limit = measure.limit
    top = max(most, limit.value if limit else 0) * 1.05
    axes.set_xscale("log", base=2)
    axes.set_xlim(xs[0], xs[-1])
    axes.set_ylim(0, top)
    axes.minorticks_off()
    axes.set_xticks(xs, [fmt.count(x) for x in xs], fontsize=9.5)
    axes.tick_params(axis="x", pad=7)  # clear of the vertical axis's 0
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    grid(axes, "y")
    if limit:
        axes.axhline(limit.value, color=C["muted"], linestyle=(0, (4, 3)), linewidth=1.2)
        label = f"{measure.bound} {fmt.three(limit.value)}"
        axes.annotate(label, (xs[0], limit.value), xytext=(3, -3), textcoords="offset points",
                      va="top", color=C["muted"])  # fmt: skip
    gap = top * 0.15 / (height - 0.8)
    ends = spread([line.points[-1][1] for line in lines], gap, 0, top)
    for line, text, end in zip(lines, texts, ends, strict=True):
        thin = line.role == "faint"
        axes.plot(*zip(*line.points, strict=True), color=C[line.role], zorder=2 if thin else 3,
                  linewidth=1.0 if thin else 2.0, linestyle="--" if line.role == "library" else "-",
                  marker="o", markersize=2.5 if thin else 4, clip_on=False)  # fmt: skip
        last = line.points[-1]
        axes.annotate(
            text, last, xytext=(xs[-1] * (xs[-1] / xs[0]) ** 0.03, end), va="center", fontsize=8,
            color=C["muted" if thin else "ink"], annotation_clip=False,
            fontweight="bold" if line.role == "accent" else "normal",
            arrowprops={"arrowstyle": "-", "color": C[line.role], "linewidth": 0.8 if thin else 1.6,
                        "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)},
        )  # fmt: skip
    key = axis_of(ladders)
    axes.set_xlabel("Compulsory traffic, bytes" if key == "bytes" else f"{key} (elements)")
    axes.set_ylabel(f"{measure.name}, {measure.unit}")
    return figure


@dataclass(frozen=True)
class Shapes:
    """Launch shape × variant at one size: rates where timed, and why not elsewhere."""

    variants: list[str]
    shorts: list[str]
    shapes: list[str]
    rates: dict[tuple[str, str], float]
    missing: dict[tuple[str, str], str]


def shapes_of(run: Run, ladder: Ladder) -> Shapes:
    """The timed cells of a ladder's cases; failed ones are missing with the word for it."""
    cases = [p for p in run.groups()[ladder.key] if p.launch]
    shorts = {r.planned.variant: r.short for r in ladder.rungs}
    shorts |= {u.variant: u.short for u in ladder.unranked}
    rates: dict[tuple[str, str], float] = {}
    missing: dict[tuple[str, str], str] = {}
    for p in cases:
        cell = p.variant, _shape(p)
        time = run.time(p.case)
        if run.outcomes[p.case].status == "ok" and time:
            rates[cell] = ladder.measure.of(p, time.value)
        else:
            missing[cell] = run.outcomes[p.case].status
    variants = list(dict.fromkeys(p.variant for p in cases))
    shapes = list(dict.fromkeys(_shape(p) for p in cases))
    return Shapes(variants, [shorts[v] for v in variants], shapes, rates, missing)


def _shape(p: Planned) -> str:
    return ", ".join(f"{name} {value}" for name, value in p.launch.items())


def draw_shapes(shapes: Shapes, unit: str, layout: Layout) -> Canvas:
    """A heat map whose cells say their number; a cell with none is hatched and says why."""
    labels = shapes.shorts if layout.narrow else shapes.variants
    rows, columns = len(labels), len(shapes.shapes)
    left = text_width(max(labels, key=len)) + 0.12
    each = min((layout.width - left - 0.2) / columns, 0.8 if layout.narrow else 1.3)
    slanted = max(text_width(s, 8) for s in shapes.shapes) > each
    bottom = 0.95 if slanted else 0.42
    width = left + 0.2 + columns * each
    right = max(layout.width - width, 0.15)
    figure, axes = canvas(layout, rows * 0.25 + bottom + 0.12, left, right, 0.12, bottom)
    most = max(shapes.rates.values(), default=1.0)
    best = max(shapes.rates, key=lambda cell: shapes.rates[cell], default=None)
    for y, variant in enumerate(shapes.variants):
        for x, shape in enumerate(shapes.shapes):
            cell = variant, shape
            if cell in shapes.rates:
                share = shapes.rates[cell] / most
                axes.add_patch(Rectangle((x, y), 0.96, 0.92, color=C["accent"], lw=0,
                                         alpha=round(0.06 + 0.94 * share**1.5, 3)))  # fmt: skip
                axes.text(x + 0.48, y + 0.47, fmt.three(shapes.rates[cell]), ha="center",
                          va="center", color=C["contrast" if share > 0.72 else "ink"],
                          fontweight="bold" if cell == best else "normal")  # fmt: skip
                continue
            axes.add_patch(Rectangle((x, y), 0.96, 0.92, facecolor="none", hatch="////",
                                     edgecolor=C["faint"], linewidth=0))  # fmt: skip
            axes.text(x + 0.48, y + 0.47, shapes.missing.get(cell, "not planned"), ha="center",
                      va="center", fontsize=7, color=C["ink"],
                      bbox={"facecolor": C["panel"], "edgecolor": "none", "pad": 1})  # fmt: skip
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.set_yticks([y + 0.46 for y in range(rows)], labels)
    axes.set_xticks([x + 0.48 for x in range(columns)], shapes.shapes)
    if slanted:
        axes.tick_params(axis="x", rotation=35)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure
