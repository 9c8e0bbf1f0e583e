"""The parts of a table, and the cells that several tables share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.ladder import Rung
from harness.analysis.readings import Answer, Missing
from harness.journal.records import Planned
from harness.quantities import Quantity
from harness.report import format as fmt
from harness.statistics.intervals import Interval
from harness.statistics.net_times import Spread
from harness.statistics.timings import Comparison
from harness.tables.roofs import OVER


@dataclass(frozen=True)
class Cell:
    """`sort` is the number behind a formatted text; plain text sorts by itself.

    `mark`: a word after the text, such as a verdict, which is also its CSS class. `brief`: the text
    shown on a narrow screen.
    """

    text: str
    sort: float | str | None = None
    title: str = ""
    css: str = ""
    link: str = ""
    mark: str = ""
    brief: str = ""

    @property
    def key(self) -> str:
        """The sort key, if it differs from the text; otherwise empty."""
        if self.sort is None or isinstance(self.sort, str) or str(self.sort) == self.text:
            return ""
        return f"{self.sort:.6g}"


@dataclass(frozen=True)
class Row:
    cells: list[Cell]
    anchor: str = ""


@dataclass(frozen=True)
class Column:
    title: str
    explained: str = ""
    link: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    anchor: str
    title: str
    columns: list[Column]
    rows: list[Row] = field(default_factory=list)
    css: str = ""


def none(text: str = "–", title: str = "") -> Cell:
    """A cell with no value."""
    return Cell(text, css="none", title=title)


def named(variant: str, link: str = "", brief: str = "") -> Cell:
    return Cell(variant, css="name", link=link, brief="" if brief == variant else brief)


def optional(value: Any, show: Callable[[Any], str], missing: str = "–") -> Cell:
    return Cell(show(value), float(value)) if fmt.is_number(value) else none(missing)


def timed(value: Interval | None) -> Cell:
    return Cell(fmt.time_interval(value), value.value) if value else none()


def compared(comparison: Comparison | None, missing: str = "–", title: str = "") -> Cell:
    """A speed-up with its interval and its verdict."""
    if comparison is None or comparison.ratio is None:
        return none(missing)
    ratio = comparison.ratio
    return Cell(fmt.ratio(ratio), ratio.value, title, mark=comparison.verdict)


def of_ceiling(rung: Rung, no_roof: str, name: bool = False) -> Cell:
    """The fraction of its roof that a case reaches, with the roof's name if requested; or the
    reason why there is none."""
    percent, roof = rung.percent, rung.roof
    if percent is None or roof is None:
        return none("no roof", no_roof) if no_roof else none("no ceiling")
    text = fmt.share(percent, roof.name if name else "")
    told = [roof.named] * bool(roof.note) + [OVER] * (percent > 100)
    return Cell(text, percent, "; ".join(told))


def placed(spread: Spread | None) -> Cell:
    """The variation of a time between placements, and within one."""
    if spread is None:
        return none("not known", "it takes three placements in memory to tell")
    text = f"{fmt.percent(100 * spread.between)} / {fmt.percent(100 * spread.within)}"
    return Cell(text, spread.between, mark="matters" if spread.depends_on_placement else "")


def shape(p: Planned) -> str:
    """`block 256`; a library and a Python function choose their own launch shape."""
    return ", ".join(f"{name} {fmt.count(value)}" for name, value in p.launch.items())


def launch_cell(p: Planned) -> Cell:
    return Cell(shape(p)) if p.launch else none("its own")


def absent(missing: Missing) -> Cell:
    """A cell without a value, which shows the kind of absence and, on hover, the reason."""
    return none(missing.short, missing.reason if missing.reason != missing.short else "")


def show(quantity: Quantity, value: float) -> str:
    """A quantity's value with its unit, for tables and sentences."""
    if quantity.unit == "ratio":
        return fmt.percent(100 * value) if value else "0"
    if quantity.unit == "byte":
        return fmt.data(value)
    if quantity.unit in {"×", "× ideal"}:
        return f"{fmt.three(value)}×"
    return fmt.three(value) if quantity.unit else fmt.amount(value)


def quantity_cell(quantity: Quantity, answer: Answer) -> Cell:
    """A quantity's cell, with a mark if the value was not counted exactly and so decides
    nothing."""
    if isinstance(answer, Missing):
        return absent(answer)
    css = "" if answer.judges else "soft"
    at = f"emulated at {answer.counted_at}" if answer.counted_at else ""
    return Cell(show(quantity, answer.value), answer.value, at, css=css)
