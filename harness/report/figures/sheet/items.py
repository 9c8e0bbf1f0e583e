"""What a figure consists of: lines, bars, marks and texts at positions in typographic points.

A figure is described once, and written twice: as SVG for the page, and as PNG. The origin is the
lower left corner. Colours are roles (`style.LIGHT`). Items with a larger `z` cover those with a
smaller one; among equals, the later covers the earlier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.report.figures.labels import Box

Point = tuple[float, float]
Shape = Literal["o", "s", "^"]
Across = Literal["start", "middle", "end"]
Up = Literal["top", "middle", "digits", "baseline", "bottom"]

ASCENT, DESCENT, GAP = 0.7598, 0.2402, 0.2002
"""A line of text above and below its baseline, and the gap between two lines, as parts of the font
size: the metrics of DejaVu Sans."""

DASHED, DOTTED, LONG = (3.7, 1.6), (1.0, 1.65), (4.0, 3.0)
"""Lengths of dashes and gaps, in line widths."""


@dataclass(frozen=True)
class Line:
    points: Sequence[Point]
    role: str
    width: float
    dashes: tuple[float, float] | None = None
    opacity: float = 1.0
    square: bool = False
    """Whether the ends reach half a line width beyond the points."""
    within: Box | None = None
    """What lies outside is not drawn."""
    z: float = 2.0


@dataclass(frozen=True)
class Bar:
    box: Box
    role: str
    hatched: bool = False
    within: Box | None = None
    z: float = 1.0


@dataclass(frozen=True)
class Mark:
    """A circle, a square or a triangle, `size` points wide without its edge."""

    at: Point
    shape: Shape
    size: float
    role: str
    edge: float = 1.0
    hollow: bool = False
    within: Box | None = None
    z: float = 2.0


@dataclass(frozen=True)
class Text:
    """A text of one line or more, of which `at` is the point that `across` and `up` name.

    up: `digits` is half the height of a capital letter or digit.
    """

    text: str
    at: Point
    role: str
    size: float = 8.5
    across: Across = "start"
    up: Up = "middle"
    bold: bool = False
    angle: float = 0.0
    """Degrees, anticlockwise, around `at`."""
    z: float = 3.0

    def lines(self) -> list[tuple[str, Point]]:
        """Each line with the point on its baseline from which it runs, or at which it is centred or
        ends, as `across` says."""
        texts = self.text.split("\n")
        gap = GAP * self.size if len(texts) > 1 else 0.0
        above, pitch = ASCENT * self.size + gap / 2, (ASCENT + DESCENT) * self.size + gap
        whole = pitch * len(texts)
        top = {"top": 0.0, "middle": whole / 2, "digits": above / 2, "baseline": above,
               "bottom": whole}[self.up]  # fmt: skip
        cos, sin = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        rises = (top - above - n * pitch for n in range(len(texts)))
        return [(text, (self.at[0] - sin * rise, self.at[1] + cos * rise))
                for text, rise in zip(texts, rises, strict=True)]  # fmt: skip


Item = Line | Bar | Mark | Text


@dataclass
class Sheet:
    """A figure of this width and height."""

    width: float
    height: float
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        self.items.append(item)

    def ordered(self) -> list[Item]:
        """The items, those that cover others last."""
        return sorted(self.items, key=lambda item: item.z)
