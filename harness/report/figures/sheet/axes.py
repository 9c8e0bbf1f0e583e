"""Axes: from values to positions on a sheet, with ticks, grid lines and titles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.figures.labels import Box
from harness.report.figures.sheet import ticks
from harness.report.figures.sheet.items import (
    ASCENT,
    DESCENT,
    Bar,
    Line,
    Mark,
    Point,
    Shape,
    Sheet,
    Text,
)

SMALL, TEXT = 8.0, 8.5
"""The font sizes of tick labels and of titles."""
_PAD, _TITLE_PAD = 3.5, 4.0
"""From the axes to the tick labels, and from there to the title, in points."""


@dataclass(frozen=True)
class Scale:
    """The values at both ends of an axis. `base`: that of a logarithmic scale."""

    low: float
    high: float
    base: float | None = None

    def part(self, value: float) -> float:
        """The position of a value as a part of the axis's length."""
        if self.base:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        if self.base:
            return ticks.powers(self.low, self.high, self.base, most)
        return ticks.steps(self.low, self.high, most)


@dataclass(frozen=True)
class Axes:
    """A rectangle of a sheet, and the values at its edges."""

    sheet: Sheet
    frame: Box
    x: Scale
    y: Scale

    @property
    def size(self) -> Point:
        return self.frame.right - self.frame.left, self.frame.top - self.frame.bottom

    def at(self, x: float, y: float) -> Point:
        return self.across(x), self.up(y)

    def across(self, x: float) -> float:
        return self.frame.left + self.x.part(x) * self.size[0]

    def up(self, y: float) -> float:
        return self.frame.bottom + self.y.part(y) * self.size[1]

    def line(
        self, points: Iterable[Point], role: str, width: float, clip: bool = True, **how: Any
    ) -> None:
        """A line through points given as values. `clip`: whether it ends at the edges."""
        within = self.frame if clip else None
        at = [self.at(*point) for point in points]
        square = not how.get("dashes")
        self.sheet.add(Line(at, role, width, **({"square": square, "within": within} | how)))

    def bar(
        self, y: float, start: float, end: float, height: float, role: str, hatched: bool = False
    ) -> None:
        """A horizontal bar between two values."""
        (left, right), (low, high) = (
            sorted((self.across(start), self.across(end))),
            sorted((self.up(y - height / 2), self.up(y + height / 2))),
        )
        self.sheet.add(Bar(Box(left, low, right, high), role, hatched, self.frame))

    def mark(self, x: float, y: float, shape: Shape, size: float, role: str, **how: Any) -> None:
        self.sheet.add(Mark(self.at(x, y), shape, size, role, **({"within": self.frame} | how)))

    def text(self, x: float, y: float, text: str, role: str, **how: Any) -> None:
        """A text at a point given by values, to its right unless `across` says otherwise."""
        self.sheet.add(Text(text, self.at(x, y), role, **how))

    def offset(self, at: Point, by: Point, text: str, role: str, **how: Any) -> None:
        """A text at a distance from a position on the sheet."""
        self.sheet.add(Text(text, (at[0] + by[0], at[1] + by[1]), role, **how))

    def x_ticks(
        self,
        text: Callable[[float], str],
        at: Sequence[float] | None = None,
        size: float = SMALL,
        pad: float = _PAD,
        grid: bool = True,
    ) -> None:
        """Label the horizontal axis, at round values or at those given."""
        most = int(self.size[0] / (3 * size))
        for value in self.x.ticks(most) if at is None else at:
            x = self.across(value)
            self.sheet.add(Text(text(value), (x, self.frame.bottom - pad), "muted", size,
                                "middle", "top"))  # fmt: skip
            if grid:
                self._grid_line((x, self.frame.bottom), (x, self.frame.top))

    def y_ticks(self, text: Callable[[float], str], title: str) -> None:
        """Label the vertical axis at round values, with grid lines and a title beside them."""
        from harness.report.figures.sheet.png import width_of

        widest = 0.0
        for value in self.y.ticks(int(self.size[1] / (2 * SMALL))):
            y, label = self.up(value), text(value)
            self._y_label(y, label)
            self._grid_line((self.frame.left, y), (self.frame.right, y))
            widest = max(widest, width_of(label, SMALL))
        x = self.frame.left - _PAD - widest - _TITLE_PAD
        middle = (self.frame.bottom + self.frame.top) / 2
        self.sheet.add(Text(title, (x, middle), "ink", TEXT, "middle", "bottom", angle=90))

    def y_names(self, names: Sequence[str]) -> None:
        """Name rows 0, 1, … at the vertical axis."""
        for row, name in enumerate(names):
            self._y_label(self.up(row), name)

    def _y_label(self, y: float, text: str) -> None:
        at = (self.frame.left - _PAD, y)
        self.sheet.add(Text(text, at, "ink", SMALL, "end", "digits"))

    def _grid_line(self, start: Point, end: Point) -> None:
        self.sheet.add(Line([start, end], "grid", 0.8, square=True, within=self.frame, z=0.5))

    def edges(self, *names: str) -> None:
        """Draw the named edges of the frame: left, bottom."""
        f = self.frame
        ends = {"left": (f.left, f.top), "bottom": (f.right, f.bottom)}
        for name in names:
            points = [(f.left, f.bottom), ends[name]]
            self.sheet.add(Line(points, "muted", 0.8, square=True, z=2.5))

    def x_title(self, text: str, size: float = SMALL, pad: float = _PAD) -> None:
        """The title below the tick labels, whose size and distance are given."""
        y = self.frame.bottom - pad - (ASCENT + DESCENT) * size - _TITLE_PAD
        middle = (self.frame.left + self.frame.right) / 2
        self.sheet.add(Text(text, (middle, y), "ink", TEXT, "middle", "top"))
