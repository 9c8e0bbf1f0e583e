"""Every variant's rate against the size: one line per variant, labelled at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from harness.analysis.ladder import Ladder, Rung
from harness.report import format as fmt
from harness.report.figures.style import LIGHT, Layout, canvas, cut, grid, spread, text_width

C = LIGHT


@dataclass(frozen=True)
class Series:
    """One variant's rate at each size."""

    variant: str
    short: str
    role: str
    points: list[tuple[float, float]]


def lines_over_size(ladders: list[Ladder]) -> list[Series]:
    """The lines of all variants. At most six are coloured: the winners, the baseline and the
    libraries; the rest are grey."""
    by_variant: dict[str, list[tuple[float, Rung]]] = {}
    for ladder in sorted(ladders, key=lambda x: x.extent):
        for rung in ladder.everyone:
            by_variant.setdefault(rung.planned.variant, []).append((ladder.extent, rung))
    ordered = sorted(ladders, key=lambda x: -x.extent)
    winners = [ladder.winner for ladder in ordered if ladder.winner]
    ranked = sorted(ordered[0].rungs, key=lambda r: r.time.value)
    notable = list(dict.fromkeys(r.planned.variant for r in (*winners, *ranked[:3])))
    if len(by_variant) <= 6:
        plain = [v for v, found in by_variant.items() if _plain(found[0][1])]
        notable += [v for v in plain if v not in notable]
    roles = dict(zip(notable[:5], ["accent", "s1", "s2", "s3", "s4"], strict=False))
    return [
        Series(variant, found[0][1].short, _role(found[0][1], roles),
             [(x, r.rate.value) for x, r in found])
        for variant, found in by_variant.items()
    ]  # fmt: skip


def limits_over_size(ladders: Sequence[Ladder]) -> list[tuple[float, float]]:
    """The rate that the roof allows, at each size with a roof, the smallest size first."""
    found = [(x.extent, x.measure.limit.value) for x in ladders if x.measure.limit]
    return sorted(found)


def _plain(rung: Rung) -> bool:
    return not (rung.planned.is_library or rung.planned.is_baseline)


def _role(rung: Rung, roles: dict[str, str]) -> str:
    if rung.planned.is_library:
        return "library"
    if rung.planned.is_baseline:
        return "baseline"
    return roles.get(rung.planned.variant, "faint")


def axis_of(ladders: list[Ladder]) -> str:
    """The quantity on the axis: the size parameter if only one varies, else the compulsory
    bytes."""
    names = list(ladders[0].sizes)
    return names[0] if len(names) == 1 else "bytes"


def axis_title(ladders: list[Ladder]) -> str:
    key = axis_of(ladders)
    return "Compulsory traffic" if key == "bytes" else f"{key} (elements)"


def draw_over_size(ladders: list[Ladder], layout: Layout) -> Canvas:
    """Draw the rate of each variant over size, labelled at the line's end."""
    lines, measure = lines_over_size(ladders), ladders[0].measure
    texts = [cut(line.short if layout.narrow else line.variant, layout) for line in lines]
    right = 0.35 + max(
        # Bold is an eighth wider.
        text_width(text, 9 if line.role == "accent" else 8)
        for line, text in zip(lines, texts, strict=True)
    )
    height = max(4.0, 0.9 + 0.155 * len(lines))
    figure, axes = canvas(layout, height, 0.68, right, 0.3, 0.5)
    xs = sorted({x for line in lines for x, _ in line.points})
    most = max(y for line in lines for _, y in line.points)
    limits = limits_over_size(ladders)
    top = max([most, *(y for _, y in limits)]) * 1.05
    axes.set_xscale("log", base=2)
    axes.set_xlim(xs[0], xs[-1])
    axes.set_ylim(0, top)
    axes.minorticks_off()
    said = fmt.data if axis_of(ladders) == "bytes" else fmt.count
    axes.set_xticks(xs, [said(x) for x in xs], fontsize=9.5)
    axes.tick_params(axis="x", pad=7)  # keep clear of the vertical axis's 0
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    grid(axes, "y")
    if limits:
        axes.plot(*zip(*limits, strict=True), color=C["muted"], linestyle=(0, (4, 3)),
                  linewidth=1.2)  # fmt: skip
        bounds = list(dict.fromkeys(x.measure.bound for x in ladders if x.measure.limit))
        last = f" {fmt.three(limits[-1][1])}" if len(bounds) == 1 else ""
        axes.annotate(bounds[0] + last if last else "lowest ceiling of each size", limits[0],
                      xytext=(3, -3), textcoords="offset points", va="top",
                      color=C["muted"])  # fmt: skip
    gap = top * 0.15 / (height - 0.8)
    ends = spread([line.points[-1][1] for line in lines], gap, 0, top)
    step = (xs[-1] / xs[0]) ** 0.005
    beside = xs[-1] * step**7
    for line, text, end in zip(lines, texts, ends, strict=True):
        thin = line.role == "faint"
        axes.plot(*zip(*line.points, strict=True), color=C[line.role], zorder=2 if thin else 3,
                  linewidth=1.0 if thin else 2.0, linestyle="--" if line.role == "library" else "-",
                  marker="o", markersize=2.5 if thin else 4, clip_on=False)  # fmt: skip
        x, y = line.points[-1]
        axes.plot([x, beside / step**1.5], [y, end], color=C[line.role], clip_on=False,
                  linewidth=0.8 if thin else 1.6)  # fmt: skip
        axes.text(beside, end, text, va="center", fontsize=8, color=C["muted" if thin else "ink"],
                  fontweight="bold" if line.role == "accent" else "normal")  # fmt: skip
    axes.set_xlabel(axis_title(ladders))
    axes.set_ylabel(f"{measure.name}, {measure.unit}")
    return figure
