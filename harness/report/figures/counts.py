"""The figure of a run without times: counted quantities over the ladder, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from harness.analysis.finders import evaluate
from harness.analysis.ladder import short_names
from harness.analysis.readings import Answer, Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES, Quantity
from harness.report.figures.style import LIGHT, Layout, cut, grid, text_width
from harness.report.format import compact

C = LIGHT
CHOSEN = (
    "wavefronts-over-ideal", "sectors-per-load", "sectors-over-compulsory", "waves",
    "instructions-per-kib", "acting-threads",
)  # fmt: skip
"""The quantities that are known to distinguish variants without times."""


@dataclass(frozen=True)
class Counts:
    """Quantities (columns) of variants (rows)."""

    cases: Sequence[Planned]
    quantities: Sequence[Quantity]
    answers: Sequence[Sequence[Answer]]
    """One answer per case, for each quantity."""


def counts_of(readings: Readings, cases: Sequence[Planned]) -> Counts | None:
    """The chosen quantities that are known and not zero for at least one case; None if there are
    none."""
    found = []
    for key in CHOSEN:
        answers = [evaluate(key, readings, p) for p in cases]
        if any(isinstance(a, Reading) and a.value for a in answers):
            found.append((QUANTITIES[key], answers))
    if not found:
        return None
    return Counts(cases, [q for q, _ in found], [answers for _, answers in found])


def draw_counts(counts: Counts, layout: Layout) -> Canvas:
    """One panel per quantity: bars are solid for exact values and hatched for others."""
    shorts = short_names([p.variant for p in counts.cases])
    labels = [cut(shorts[p.variant] if layout.narrow else p.variant, layout) for p in counts.cases]
    left = text_width(max(labels, key=len)) + 0.15
    across = 2 if layout.narrow else len(counts.quantities)
    down = -(-len(counts.quantities) // across)
    tall, head, gap = len(labels) * 0.22 + 0.1, 0.45, 0.42
    room = (layout.width - left - 0.05) / across
    height = down * (tall + head) + 0.15
    figure = Canvas(figsize=(layout.width, height))
    for n, (quantity, answers) in enumerate(zip(counts.quantities, counts.answers, strict=True)):
        row, column = divmod(n, across)
        top = row * (tall + head) + head
        axes = figure.add_axes(
            ((left + column * room) / layout.width, 1 - (top + tall) / height,
             (room - gap) / layout.width, tall / height)
        )  # fmt: skip
        _panel(axes, quantity, answers, counts.cases)
        axes.set_yticks(range(len(labels)), labels if column == 0 else [""] * len(labels))
    return figure


def _panel(
    axes: Axes, quantity: Quantity, answers: Sequence[Answer], cases: Sequence[Planned]
) -> None:
    known = [a.value for a in answers if isinstance(a, Reading)]
    most = max([*known, quantity.ideal or 0]) or 1
    axes.set_xlim(0, most)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    grid(axes)
    for y, (p, answer) in enumerate(zip(cases, answers, strict=True)):
        if not isinstance(answer, Reading):
            axes.text(0, y, " –", va="center", color=C["muted"], fontsize=8)
            continue
        role = "baseline" if p.is_baseline else "counted"
        if answer.judges:
            axes.barh(y, answer.value, 0.68, color=C[role], linewidth=0)
        else:
            axes.barh(y, answer.value, 0.68, facecolor="none", edgecolor=C[role], hatch="/////",
                      linewidth=0.6)  # fmt: skip
        axes.annotate(compact(answer.value), (1, y), xycoords=("axes fraction", "data"),
                      xytext=(27, 0), textcoords="offset points", ha="right", va="center",
                      fontsize=7.5, annotation_clip=False)  # fmt: skip
    if quantity.ideal is not None and quantity.ideal < most:
        axes.axvline(quantity.ideal, color=C["muted"], linestyle=(0, (4, 3)), linewidth=1,
                     zorder=3)  # fmt: skip
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.annotate(quantity.labels.figure, (0, 1), xycoords="axes fraction", xytext=(0, 4),
                  textcoords="offset points", va="bottom", fontsize=8, color=C["ink"])  # fmt: skip
