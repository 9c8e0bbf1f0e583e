"""The figure of a run without times: counted quantities over the ladder, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.analysis.finders import evaluate
from harness.analysis.ladder import short_names
from harness.analysis.readings import Answer, Reading, Readings
from harness.journal.records import Planned
from harness.quantities import QUANTITIES, Quantity
from harness.report.figures.labels import Box
from harness.report.figures.sheet.axes import SMALL, Axes, Scale
from harness.report.figures.sheet.items import LONG, Sheet
from harness.report.figures.style import Layout, cut, text_width
from harness.report.format import compact

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
    """For each quantity, one answer per case."""


def counts_of(readings: Readings, cases: Sequence[Planned]) -> Counts | None:
    """The chosen quantities that are known for at least one case and in which cases differ; None if
    there are none."""
    found = []
    for key in CHOSEN:
        answers = [evaluate(key, readings, p) for p in cases]
        if any(isinstance(a, Reading) and a.value for a in answers):
            found.append((QUANTITIES[key], answers))
    if not found:
        return None
    return Counts(cases, [q for q, _ in found], [answers for _, answers in found])


def draw_counts(counts: Counts, layout: Layout) -> Sheet:
    """One panel per quantity: bars are solid for exact values and hatched for others."""
    shorts = short_names([p.variant for p in counts.cases])
    labels = [cut(shorts[p.variant] if layout.narrow else p.variant, layout) for p in counts.cases]
    left = text_width(max(labels, key=len)) + 0.15
    across = 2 if layout.narrow else len(counts.quantities)
    down = -(-len(counts.quantities) // across)
    tall, head, gap = len(labels) * 0.22 + 0.1, 0.45, 0.42
    room = (layout.width - left - 0.05) / across
    height = down * (tall + head) + 0.15
    sheet = Sheet(72 * layout.width, 72 * height)
    for n, (quantity, answers) in enumerate(zip(counts.quantities, counts.answers, strict=True)):
        row, column = divmod(n, across)
        start, top = left + column * room, height - row * (tall + head) - head
        frame = Box(72 * start, 72 * (top - tall), 72 * (start + room - gap), 72 * top)
        axes = _panel(sheet, frame, quantity, answers, counts.cases)
        if column == 0:
            axes.y_names(labels)
    return sheet


def _panel(
    sheet: Sheet, frame: Box, quantity: Quantity, answers: Sequence[Answer],
    cases: Sequence[Planned],
) -> Axes:  # fmt: skip
    known = [a.value for a in answers if isinstance(a, Reading)]
    most = max([*known, quantity.ideal or 0]) or 1
    axes = Axes(sheet, frame, Scale(0, most), Scale(len(cases) - 0.5, -0.5))
    for y, (p, answer) in enumerate(zip(cases, answers, strict=True)):
        if not isinstance(answer, Reading):
            axes.text(0, y, " –", "muted", size=SMALL)
            continue
        role = "baseline" if p.is_baseline else "counted"
        axes.bar(y, 0, answer.value, 0.68, role, hatched=not answer.judges)
        axes.offset((frame.right, axes.up(y)), (27, 0), compact(answer.value), "ink",
                    across="end", size=7.5)  # fmt: skip
    if quantity.ideal is not None and quantity.ideal < most:
        ends = [(quantity.ideal, y) for y in (axes.y.low, axes.y.high)]
        axes.line(ends, "muted", 1, dashes=LONG, z=3)
    axes.offset((frame.left, frame.top), (0, 4), quantity.labels.figure, "ink", up="bottom",
                size=SMALL)  # fmt: skip
    return axes
