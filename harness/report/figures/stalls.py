"""Stall reasons: one bar per variant, divided by reason, all bars equally long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from harness.analysis.finders import stall_reasons
from harness.analysis.ladder import short_names
from harness.analysis.readings import Missing, Reading, Readings
from harness.journal.records import Planned
from harness.report import format as fmt
from harness.report.figures.style import LIGHT, Layout, canvas, cut, grid, text_width
from harness.report.words import meaning

C = LIGHT
ROLES = ("accent", "s2", "s1", "s3", "library")
"""The colours of the reasons, in order of their total over all variants; the last ones share a
faint colour."""


@dataclass(frozen=True)
class Stalls:
    """The share of waiting per reason, for each variant's main launch."""

    cases: list[Planned]
    reasons: list[str]
    """The reasons that are shown separately; the last entry combines all the others."""
    shares: list[list[float]]
    """Each reason's share, as a fraction of 1."""
    waiting: list[float]
    """The cycles that warps wait per issued instruction."""
    missing: dict[str, str]
    """Variant → why it has no bar."""

    @property
    def explained(self) -> str:
        """`Barrier: waiting for the other warps of the block …; wait: …`"""
        texts = {title: meaning(metric).text for metric, title in stall_reasons().items()}
        found = "; ".join(f"{r}: {_clause(texts[r])}" for r in self.reasons if r in texts)
        return f"{found[0].upper()}{found[1:]}."


def _clause(text: str) -> str:
    """The first sentence of a meaning, for use after a colon."""
    first = text.split(". ", maxsplit=1)[0].rstrip(".")
    return first[0].lower() + first[1:]


def stalls_of(readings: Readings, cases: Sequence[Planned]) -> Stalls | None:
    """The stalls to draw; None if no variant has a stall counter."""
    titles = stall_reasons()
    found: dict[str, dict[str, float]] = {}
    missing: dict[str, str] = {}
    for p in cases:
        answers = {title: readings.main(p.case, metric) for metric, title in titles.items()}
        known = {t: a.value for t, a in answers.items() if isinstance(a, Reading)}
        if known and sum(known.values()):
            found[p.variant] = known
        else:
            absent = next((a for a in answers.values() if isinstance(a, Missing)), None)
            missing[p.variant] = absent.short if absent else "it waits for nothing"
    if not found:
        return None
    share = {
        variant: {t: value / sum(row.values()) for t, value in row.items()}
        for variant, row in found.items()
    }
    weight = {t: max(row.get(t, 0.0) for row in share.values()) for t in titles.values()}
    named = sorted((t for t in weight if weight[t] > 0), key=lambda t: -weight[t])[: len(ROLES)]
    shown = [p for p in cases if p.variant in found]
    shares = [
        [*(share[p.variant].get(t, 0.0) for t in named),
         sum(v for t, v in share[p.variant].items() if t not in named)]
        for p in shown
    ]  # fmt: skip
    waiting = [sum(found[p.variant].values()) for p in shown]
    return Stalls(shown, [*named, "other reasons"], shares, waiting, missing)


def draw_stalls(stalls: Stalls, layout: Layout) -> Canvas:
    """Draw 100 % stacked bars, with a key above them and the stall cycles on the right."""
    shorts = short_names([p.variant for p in stalls.cases])
    labels = [cut(shorts[p.variant] if layout.narrow else p.variant, layout) for p in stalls.cases]
    left = text_width(max(labels, key=len)) + 0.15
    rows = _key_rows(stalls.reasons, layout, left)
    top = 0.42 + 0.2 * len(rows)
    figure, axes = canvas(layout, len(labels) * 0.24 + 0.5 + top, left, 0.65, top, 0.5)
    axes.set_xlim(0, 100)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    grid(axes)
    for y, (row, total) in enumerate(zip(stalls.shares, stalls.waiting, strict=True)):
        start = 0.0
        for i, value in enumerate(row):
            axes.barh(y, 100 * value, 0.7, left=start, color=C[_role(i, len(row))], linewidth=0)
            start += 100 * value
        _beside(axes, y, fmt.three(total), "ink")
    _beside(axes, -1.1, "cycles", "muted")
    _key(figure, stalls, rows, left)
    axes.set_yticks(range(len(labels)), labels)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} %")
    axes.set_xlabel("of all waiting" if layout.narrow else "Of all waiting in the main launch")
    return figure


def _beside(axes: Axes, y: float, text: str, role: str) -> None:
    axes.annotate(text, (1, y), xycoords=("axes fraction", "data"), va="center",
                  xytext=(42, 0), textcoords="offset points", ha="right", fontsize=8,
                  color=C[role], annotation_clip=False)  # fmt: skip


def _role(i: int, reasons: int) -> str:
    """The colour of a reason; the last reason combines all the others."""
    return ROLES[i] if i < reasons - 1 else "faint"


def _key_rows(reasons: Sequence[str], layout: Layout, left: float) -> list[list[int]]:
    """The indices of the reasons, in rows, each with as many as fit."""
    rows: list[list[int]] = [[]]
    used, room = 0.0, layout.width - (0.1 if layout.narrow else left) - 0.1
    for i, reason in enumerate(reasons):
        width = text_width(reason, 8) + 0.4
        if rows[-1] and used + width > room:
            rows.append([])
            used = 0.0
        rows[-1].append(i)
        used += width
    return rows


def _key(figure: Canvas, stalls: Stalls, rows: list[list[int]], left: float) -> None:
    width, height = (72 * x for x in figure.get_size_inches())
    narrow = width < 72 * 5
    for n, row in enumerate(rows):
        x, y = 72 * (0.1 if narrow else left), height - 12 - 14.4 * n
        for i in row:
            figure.text(x / width, y / height, "■", color=C[_role(i, len(stalls.reasons))],
                        fontsize=9, va="center")  # fmt: skip
            figure.text((x + 11) / width, y / height, stalls.reasons[i], fontsize=8, va="center",
                        color=C["muted"])  # fmt: skip
            x += 72 * (text_width(stalls.reasons[i], 8) + 0.4)
