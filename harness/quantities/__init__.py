"""The catalogue of quantities: their names, which direction is better, and their limits.

The catalogue is data, in quantities.yaml next to this file, which also explains each key. Budgets,
pages, comparisons and rules all use it. The code that computes a quantity from a case's counters is
in harness/analysis/finders.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.files import strict_yaml

PATH = Path(__file__).with_name("quantities.yaml")


@dataclass(frozen=True)
class Labels:
    """Short titles: for a page's column, for a figure, and for a column in a terminal."""

    column: str
    figure: str
    terminal: str


@dataclass(frozen=True)
class Roof:
    """The limit on how fast a kind of work can be done."""

    of: str = ""
    per_cycle: float = 0.0
    ceiling: str = ""


@dataclass(frozen=True)
class Quantity:
    """A quantity in which cases are compared."""

    key: str
    title: str
    words: str
    meaning: str
    labels: Labels
    roof: Roof
    unit: str = ""
    good: Literal["lower", "higher", "neutral"] = "lower"
    kind: Literal["cause", "extent", "consequence"] = "cause"
    family: str = ""
    ideal: float | None = None
    least: float = 0.0


@dataclass(frozen=True)
class Gauge:
    """A quantity by which two runs are compared: the smallest relevant change, and why."""

    quantity: Quantity
    why: str
    tolerance: float
    family: str
    decides: bool = False
    trades: bool = False
    needs: Sequence[str] = ()
    none_is_ideal: bool = False

    @property
    def key(self) -> str:
        return self.quantity.key

    @property
    def worse(self) -> int:
        """1 if more is worse, −1 if less is."""
        return {"lower": 1, "higher": -1}[self.quantity.good]

    @property
    def of_none(self) -> float | None:
        """The value for a kernel to which the quantity does not apply; None if such a kernel cannot
        be compared."""
        return self.quantity.ideal if self.none_is_ideal else None

    @property
    def deciding(self) -> str:
        """A short phrase saying whether a regression in the quantity closes the gate."""
        if self.trades:
            return "yes; where another got better, nobody can tell"
        return "yes" if self.decides else "no"


def _quantity(key: str, entry: Mapping[str, Any]) -> Quantity:
    title = entry["title"]
    words = entry.get("words", title[0].lower() + title[1:])
    labels = {
        "column": words,
        "figure": title,
        "terminal": title.lower(),
        **entry.get("labels", {}),
    }
    return Quantity(
        key, title, words, entry["meaning"], Labels(**labels), Roof(**entry.get("roof", {})),
        **entry.get("value", {}),
    )  # fmt: skip


def _gauge(quantity: Quantity, entry: Mapping[str, Any]) -> Gauge:
    return Gauge(quantity, **{"family": quantity.family or quantity.key, **entry})


_ENTRIES: Mapping[str, Mapping[str, Any]] = strict_yaml.read(PATH).data
QUANTITIES = {key: _quantity(key, entry) for key, entry in _ENTRIES.items()}
GAUGES = {
    key: _gauge(QUANTITIES[key], entry["gauge"])
    for key, entry in _ENTRIES.items() if "gauge" in entry
}  # fmt: skip
