"""Counters as a person compares them: quantities of a whole case, a row a case, and bar figures.

The quantities are those of harness/analysis/quantities.py; one that has no value says why, and is
never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from harness.analysis.quantities import BY_KEY, QUANTITIES, Answer, Quantity, Reading, Readings
from harness.analysis.why import middle_shapes
from harness.records import Planned
from harness.report import format as fmt
from harness.report.anchors import short_names
from harness.report.style import LIGHT, Layout, canvas, grid, text_width

COMPILED = {
    "registers",
    "shared",
    "spills",
    "theoretical-occupancy",
    "launches",
    "waves",
    "wave-fill",
}
"""Known of every case without counting; the table of cases has them."""
FIGURES = (
    "wavefronts-over-ideal", "sectors-per-load", "sectors-over-compulsory", "acting-threads",
    "instructions-per-kib", "dram-throughput", "achieved-occupancy",
)  # fmt: skip


def show(quantity: Quantity, value: float) -> str:
    """A quantity's value with its unit, as a table and a sentence have it."""
    if quantity.unit == "ratio":
        return fmt.percent(100 * value) if value else "0"
    if quantity.unit == "byte":
        return fmt.data(value)
    if quantity.unit in {"×", "× ideal"}:
        return f"{fmt.three(value)}×"
    return fmt.three(value) if quantity.unit else fmt.amount(value)


@dataclass(frozen=True)
class Group:
    """The counted cases of one problem, dtype and size."""

    key: tuple[str, str, str]
    cases: list[Planned]
    readings: Readings

    def value(self, quantity: Quantity, p: Planned) -> Answer:
        """The quantity, or why there is none."""
        return quantity.find(self.readings, p)

    def known(self) -> list[Quantity]:
        """The counted quantities that at least one case has."""
        return [
            q
            for q in QUANTITIES
            if q.key not in COMPILED
            and any(isinstance(self.value(q, p), Reading) for p in self.cases)
        ]


def groups(readings: Readings) -> list[Group]:
    """Every group with a counter, the largest size first."""
    found = [
        Group(key, counted, readings)
        for key, cases in readings.run.groups().items()
        if (counted := [p for p in cases if p.case in readings.counted])
    ]
    return sorted(found, key=lambda g: (g.key[:2], -g.cases[0].bytes))


def figured(group: Group) -> list[Quantity]:
    """What is drawn as bars."""
    known = {q.key for q in group.known()}
    return [BY_KEY[key] for key in FIGURES if key in known]


def representative(group: Group) -> list[Planned]:
    """A case a variant for the figures: its fastest launch shape; untimed, its middle one."""
    if group.readings.run.is_timed:
        return group.readings.run.timings.fastest(group.cases)
    return middle_shapes(group.cases)


def bars(group: Group, quantity: Quantity) -> Callable[[Layout], Canvas]:
    """Draws one quantity for every variant that has it; the rest say why they have no bar."""
    shown = representative(group)
    shorts = short_names([p.variant for p in shown])
    scale = 100 if quantity.unit == "ratio" else 1

    def draw(layout: Layout) -> Canvas:
        labels = [shorts[p.variant] if layout.narrow else p.variant for p in shown]
        left = text_width(max(labels, key=len)) + 0.15
        figure, axes = canvas(layout, len(shown) * 0.22 + 0.8, left, 0.55, 0.25, 0.5)
        answers = [group.value(quantity, p) for p in shown]
        known = [scale * a.value for a in answers if isinstance(a, Reading)]
        most = max([*known, quantity.ideal or 0]) or 1
        axes.set_xlim(0, most * 1.02)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        grid(axes)
        for row, (p, answer) in enumerate(zip(shown, answers, strict=True)):
            if not isinstance(answer, Reading):
                axes.text(most * 0.008, row, answer.short, va="center", color=LIGHT["muted"],
                          fontsize=8)  # fmt: skip
                continue
            role = "baseline" if p.is_baseline else "library" if p.is_library else "counted"
            value = scale * answer.value
            axes.barh(row, value, 0.68, color=LIGHT[role])
            axes.text(value + most * 0.008, row, show(quantity, answer.value), va="center",
                      fontsize=8, clip_on=False,
                      bbox={"facecolor": LIGHT["panel"], "edgecolor": "none", "pad": 0.6,
                            "alpha": 0.9})  # fmt: skip
        if quantity.ideal is not None:
            axes.axvline(quantity.ideal, color=LIGHT["muted"], linestyle=(0, (4, 3)), linewidth=1.1,
                         zorder=0.9)  # fmt: skip
            axes.annotate(f"ideal {quantity.ideal:g}", (quantity.ideal, 1), xytext=(0, 2),
                          xycoords=("data", "axes fraction"), textcoords="offset points",
                          ha="center", va="bottom", color=LIGHT["muted"], fontsize=8)  # fmt: skip
        axes.set_yticks(range(len(shown)), labels)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        unit = {"ratio": "%", "": "", "×": "×"}.get(quantity.unit, quantity.unit)
        title = f"{quantity.title}, {unit}" if unit else quantity.title
        axes.set_xlabel(unit if layout.narrow else title)
        return figure

    return draw
