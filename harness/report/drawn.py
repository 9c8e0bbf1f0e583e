"""Every figure of the page with its caption, its data and its file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.analysis.quantities import Missing, Readings
from harness.analysis.roofline import LEVELS, Roofline
from harness.report import cells, counted, figures_timed, interactive
from harness.report import format as fmt
from harness.report.anchors import slug
from harness.report.figures_roofline import draw_roofline
from harness.report.figures_stalls import draw_stalls, stalls_of
from harness.report.ladder import Ladder
from harness.report.style import Draw, Figure, render
from harness.tables import Run


def ladder_figure(folder: Path, ladder: Ladder) -> Figure:
    def draw(layout: Any) -> Any:
        return figures_timed.draw_ladder(ladder, layout)

    table = cells.ladder_table(ladder)
    caption = (
        f"Each variant at its fastest launch shape, cold; the dark line on a bar's end is its "
        f"confidence interval. Coloured: {_coloured(ladder)}. Grey: the baseline."
    )
    if any(rung.steps for rung in ladder.rungs):
        caption += (
            " Where there are several launches, the tick shows the rate that the longest alone "
            "would have; its share of their time stands beside or in the table. They were timed "
            "apart from the total."
        )
    return render(
        folder,
        f"ladder-{slug('-'.join(ladder.key))}",
        f"{ladder.problem} at {fmt.assignments(ladder.sizes)}",
        caption,
        draw,
        [column.title for column in table.columns],
        table.plain(),
        interactive.ladder(ladder),
    )


def _coloured(ladder: Ladder) -> str:
    if ladder.tied:
        return "those that cannot be told apart from the fastest"
    return f"the fastest, {ladder.winner.planned.variant}" if ladder.winner else "none"


def timed_figures(run: Run, own: list[Ladder]) -> list[Figure]:
    ranked = [ladder for ladder in own if ladder.rungs]
    figures = [_over_size(run.folder, ranked)] if len(ranked) > 1 else []
    for ladder in own:
        shapes = figures_timed.shapes_of(run, ladder)
        if len(shapes.shapes) > 1 and shapes.rates:
            figures.append(_shapes_figure(run.folder, ladder, shapes))
    return figures


def _over_size(folder: Path, own: list[Ladder]) -> Figure:
    lines = figures_timed.lines_over_size(own)
    ordered = sorted(own, key=lambda x: max(r.planned.bytes for r in x.rungs))

    def draw(layout: Any) -> Any:
        return figures_timed.draw_over_size(own, layout)

    at = [{r.planned.variant: r for r in [*x.rungs, *([x.library] if x.library else [])]}
          for x in ordered]  # fmt: skip
    return render(
        folder,
        f"over-size-{slug(f'{own[0].problem}-{own[0].dtype}')}",
        f"{own[0].measure.name} over size",
        "Each variant at its fastest launch shape at each size, cold. In colour: the fastest, the "
        "baseline and the library; thin and grey: the rest.",
        draw,
        ["variant", *(f"{fmt.assignments(x.sizes)}, {x.measure.unit}" for x in ordered)],
        [
            [
                line.variant,
                *(fmt.interval(r[line.variant].rate) if line.variant in r else "–" for r in at),
            ]
            for line in lines
        ],
        interactive.over_size(own),
    )


def _shapes_figure(folder: Path, ladder: Ladder, shapes: figures_timed.Shapes) -> Figure:
    unit = ladder.measure.unit

    def draw(layout: Any) -> Any:
        return figures_timed.draw_shapes(shapes, unit, layout)

    return render(
        folder,
        f"shapes-{slug('-'.join(ladder.key))}",
        f"Launch shape × variant at {fmt.assignments(ladder.sizes)}, {unit}",
        "Cold; the stronger the colour the faster, the fastest in bold. Hatched: not timed; the "
        "table of cases and the lists of failures and of skipped cases say why.",
        draw,
        ["variant", *shapes.shapes],
        [
            [
                v,
                *(
                    fmt.three(shapes.rates[v, s])
                    if (v, s) in shapes.rates
                    else shapes.missing.get((v, s), "not planned")
                    for s in shapes.shapes
                ),
            ]
            for v in shapes.variants
        ],
    )


def counter_figures(folder: Path, group: counted.Group) -> list[Figure]:
    """Bars for the quantities that a reader compares at a glance."""
    figures: list[Figure] = []
    shown = counted.representative(group)
    shapes = list(dict.fromkeys(fmt.assignments(p.launch) for p in shown if p.launch))
    which = "fastest" if group.readings.run.is_timed else "middle"
    shape = shapes[0] if len(shapes) == 1 else f"each at its {which} launch shape"
    for quantity in counted.figured(group):
        draw: Draw = counted.bars(group, quantity)
        answers = [group.value(quantity, p) for p in shown]
        figures.append(
            render(
                folder,
                f"{quantity.key}-{slug('-'.join(group.key))}",
                quantity.title,
                f"At {fmt.assignments(shown[0].sizes)}{', ' + shape if shape else ''}. "
                f"{quantity.text} Grey: the baseline.",
                draw,
                ["variant", "launch", quantity.title],
                [
                    [
                        p.variant,
                        fmt.assignments(p.launch),
                        a.reason if isinstance(a, Missing) else counted.show(quantity, a.value),
                    ]
                    for p, a in zip(shown, answers, strict=True)
                ],
            )
        )
    return figures


def roofline_figure(folder: Path, chart: Roofline, best: str) -> Figure:
    """The chart, with what its points are made of."""

    def draw(layout: Any) -> Any:
        return draw_roofline(chart, layout, best)

    origins = list(dict.fromkeys(k.flops_from for k in chart.kernels))
    levels = [level for level in LEVELS if any(k.at(level) for k in chart.kernels)]
    caption = (
        "Each kernel at its fastest launch shape, cold. "
        f"Flops: {' or '.join(origins)}. Rings: intensity by the bytes that the problem must move"
    )
    if levels:
        caption += (
            f"; filled: by those that crossed {', '.join(levels)}. The line from a ring to its "
            "DRAM point is traffic in excess, or where it runs the other way, traffic that a cache "
            "saved"
        )
    roofs = ", ".join(roof.label for roof in chart.roofs)
    caption += f". Roofs measured in this run: {roofs}." if roofs else ". No roof was measured."
    rows = [
        [
            k.planned.variant,
            fmt.three(k.rate.value / 1e9),
            *(fmt.three(x) if (x := k.at(level)) else "–" for level in ("compulsory", *LEVELS)),
            f"{fmt.three(k.excess)}×" if k.excess else k.missing.get("DRAM", "–"),
            k.flops_from,
        ]
        for k in chart.kernels
    ]
    columns = ["variant", "Gflop/s", "flop/byte, compulsory", *(f"{x}" for x in LEVELS)]
    return render(
        folder, f"roofline-{chart.key}", chart.title, caption, draw,
        [*columns, "DRAM over compulsory", "flops"], rows, interactive.roofline(chart),
    )  # fmt: skip


def stall_figure(folder: Path, readings: Readings, group: counted.Group) -> Figure | None:
    """What warps wait for; None where no stall counter was read."""
    cases = [p for p in counted.representative(group) if not p.is_library]
    stalls = stalls_of(readings, cases)
    if stalls is None:
        return None
    found = stalls

    def draw(layout: Any) -> Any:
        return draw_stalls(found, layout)

    left = "".join(f" {variant}: {why}." for variant, why in found.missing.items())
    return render(
        folder,
        f"stalls-{slug('-'.join(group.key))}",
        "What warps wait for",
        f"At {fmt.assignments(cases[0].sizes)}, each variant at its fastest launch shape, in its "
        "longest launch: warps of a scheduler that wait, in an average cycle that issues an "
        f"instruction. A taller bar is not a slower kernel: it is more waiting per issue.{left}",
        draw,
        ["variant", *found.reasons, "all"],
        [
            [p.variant, *(fmt.three(v) for v in row), fmt.three(sum(row))]
            for p, row in zip(found.cases, found.values, strict=True)
        ],
    )
