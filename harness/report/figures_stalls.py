"""What warps wait for: a bar a variant, divided by reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from harness.analysis.quantities import Reading, Readings, stall_reasons
from harness.records import Planned
from harness.report import format as fmt
from harness.report.anchors import short_names
from harness.report.style import LIGHT, Layout, canvas, grid, text_width

C = LIGHT
ROLES = ("accent", "s2", "s1", "s3", "library")
"""Colours of the reasons, the largest over all variants first; the rest together is faint."""


@dataclass(frozen=True)
class Stalls:
    """Each variant's warps waiting per issued instruction, by reason, in its main launch."""

    cases: list[Planned]
    reasons: list[str]
    """Those told apart; the last is the rest of them."""
    values: list[list[float]]
    missing: dict[str, str]
    """Variant → why it has no bar."""

    @property
    def totals(self) -> list[float]:
        return [sum(row) for row in self.values]


def stalls_of(readings: Readings, cases: Sequence[Planned]) -> Stalls | None:
    """None where no variant has a stall counter."""
    titles = stall_reasons()
    found: dict[str, dict[str, float]] = {}
    missing: dict[str, str] = {}
    for p in cases:
        answers = {title: readings.main(p.case, metric) for metric, title in titles.items()}
        known = {t: a.value for t, a in answers.items() if isinstance(a, Reading)}
        if known:
            found[p.variant] = known
        else:
            missing[p.variant] = readings.main(p.case, next(iter(titles))).short  # type: ignore[union-attr]
    if not found:
        return None
    weight = {t: max(row.get(t, 0.0) for row in found.values()) for t in titles.values()}
    named = sorted((t for t in weight if weight[t] > 0), key=lambda t: -weight[t])[: len(ROLES)]
    shown = [p for p in cases if p.variant in found]
    values = [
        [
            *(found[p.variant].get(t, 0.0) for t in named),
            sum(v for t, v in found[p.variant].items() if t not in named),
        ]
        for p in shown
    ]
    return Stalls(shown, [*named, "other reasons"], values, missing)


def draw_stalls(stalls: Stalls, layout: Layout) -> Canvas:
    """Stacked bars with a key above, total at the right."""
    shorts = short_names([p.variant for p in stalls.cases])
    labels = [shorts[p.variant] if layout.narrow else p.variant for p in stalls.cases]
    left = text_width(max(labels, key=len)) + 0.15
    rows = _key_rows(stalls.reasons, layout, left)
    top = 0.2 + 0.2 * len(rows)
    figure, axes = canvas(layout, len(labels) * 0.24 + 0.6 + top, left, 0.6, top, 0.5)
    most = max(stalls.totals) or 1.0
    axes.set_xlim(0, most * 1.02)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    grid(axes)
    for y, row in enumerate(stalls.values):
        start = 0.0
        for i, value in enumerate(row):
            axes.barh(y, value, 0.7, left=start, color=C[_role(i, len(row))], linewidth=0)
            start += value
        axes.annotate(fmt.three(start), (1, y), xycoords=("axes fraction", "data"), va="center",
                      xytext=(40, 0), textcoords="offset points", ha="right", fontsize=8,
                      annotation_clip=False)  # fmt: skip
    _key(figure, stalls, rows, left)
    axes.set_yticks(range(len(labels)), labels)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.set_xlabel("warps waiting" if layout.narrow else "Warps waiting per issued instruction")
    return figure


def _role(i: int, reasons: int) -> str:
    """The last of the reasons is the rest of them."""
    return ROLES[i] if i < reasons - 1 else "faint"


def _key_rows(reasons: Sequence[str], layout: Layout, left: float) -> list[list[int]]:
    """The reasons' indices, as many in a row as fit."""
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
