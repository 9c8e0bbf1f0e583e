"""A sheet as PNG, drawn by matplotlib's renderer without its figures and axes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends import backend_agg
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform
from PIL import Image

from harness.report.figures.labels import Box
from harness.report.figures.sheet.items import Bar, Item, Line, Mark, Sheet, Text

RendererAgg: Any = backend_agg.RendererAgg  # matplotlib describes no types of it
DPI = 120
_SCALE = DPI / 72
_SQUARE = Path([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)], closed=True)
_TRIANGLE = Path([(0, 0.5), (-0.5, -0.5), (0.5, -0.5), (0, 0.5)], closed=True)
_UNIT = Path.unit_rectangle()


def write(sheet: Sheet, colours: Mapping[str, str]) -> bytes:
    """Draw the sheet in these colours: role → `#rrggbb`."""
    width, height = (int(_SCALE * each + 1e-6) for each in (sheet.width, sheet.height))
    with matplotlib.rc_context({"text.hinting": "none"}):
        drawing = _Drawing(RendererAgg(width, height, DPI), colours)
        drawing.item(Bar(Box(0, 0, sheet.width, sheet.height), "panel"))
        for item in sheet.ordered():
            drawing.item(item)
    drawn = drawing.renderer.buffer_rgba()
    # A palette reduces the file to a third; colours are off by at most a few of 255 steps.
    image = Image.frombuffer("RGBA", (width, height), drawn, "raw", "RGBA", 0, 1)
    nearest = image.convert("RGB").quantize(
        128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    stored = io.BytesIO()
    nearest.save(stored, "PNG", compress_level=8)
    return stored.getvalue()


class _Drawing:
    def __init__(self, renderer: Any, colours: Mapping[str, str]) -> None:
        self.renderer = renderer
        self._colours = {role: _rgba(text) for role, text in colours.items()}

    def item(self, item: Item) -> None:
        draw = {Line: self._line, Bar: self._bar, Mark: self._mark, Text: self._text}
        draw[type(item)](item)  # type: ignore[operator]

    def _pen(self, role: str, width: float, within: Box | None = None) -> GraphicsContextBase:
        pen = self.renderer.new_gc()
        pen.set_foreground(self._colours[role], isRGBA=True)
        pen.set_linewidth(width)
        if within:
            edges = within.left, within.bottom, within.right, within.top
            pen.set_clip_rectangle(Bbox.from_extents(*(_SCALE * each for each in edges)))
        return pen

    def _line(self, line: Line) -> None:
        pen = self._pen(line.role, line.width, line.within)
        pen.set_capstyle("projecting" if line.square else "butt")
        if line.dashes:
            pen.set_dashes(0, [each * line.width for each in line.dashes])
        if line.opacity < 1:
            pen.set_alpha(line.opacity)
        path = Path(_SCALE * np.array(line.points, float))
        self.renderer.draw_path(pen, path, IdentityTransform())

    def _bar(self, bar: Bar) -> None:
        pen = self._pen(bar.role, 0.6 if bar.hatched else 0.0, bar.within)
        if bar.hatched:
            pen.set_hatch("/////")
            pen.set_hatch_color(self._colours[bar.role])
            pen.set_hatch_linewidth(0.6)
        pen.set_joinstyle("miter")
        left, bottom, right, top = (
            _SCALE * each for each in (bar.box.left, bar.box.bottom, bar.box.right, bar.box.top)
        )
        place = Affine2D.from_values(right - left, 0, 0, top - bottom, left, bottom)
        fill = None if bar.hatched else self._colours[bar.role]
        self.renderer.draw_path(pen, _UNIT, place, fill)

    def _mark(self, mark: Mark) -> None:
        pen = self._pen(mark.role, mark.edge, mark.within)
        shape, size = {
            "o": (Path.unit_circle(), mark.size / 2), "s": (_SQUARE, mark.size),
            "^": (_TRIANGLE, mark.size),
        }[mark.shape]  # fmt: skip
        pen.set_joinstyle("round" if mark.shape == "o" else "miter")
        pen.set_snap(mark.shape != "o")
        at = Path(_SCALE * np.array([mark.at], float))
        fill = None if mark.hollow else self._colours[mark.role]
        size *= _SCALE
        self.renderer.draw_markers(
            pen, shape, Affine2D.from_values(size, 0, 0, size, 0, 0), at, IdentityTransform(), fill
        )

    def _text(self, text: Text) -> None:
        pen, font = self._pen(text.role, 1.0), _font(text.size, text.bold)
        part = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.across]
        cos, sin = _turn(text.angle)
        for line, (x, y) in text.lines():
            if not line:
                continue
            back = part * _SCALE * width_of(line, text.size, text.bold)
            self.renderer.draw_text(
                pen, _SCALE * x - back * cos, self.renderer.height - (_SCALE * y - back * sin),
                line, font, text.angle,
            )  # fmt: skip


@lru_cache(4096)
def width_of(text: str, size: float, bold: bool = False) -> float:
    """The width of a line of text in points."""
    font = get_font(findfont(_font(size, bold)))
    font.set_size(size, DPI)
    font.set_text(text, 0.0, flags=LoadFlags.NO_HINTING)
    width, _ = font.get_width_height()  # in 64ths of a pixel
    return float(width) / 64 / _SCALE


@cache
def _font(size: float, bold: bool) -> FontProperties:
    return FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")


def _turn(angle: float) -> tuple[float, float]:
    return float(np.cos(np.radians(angle))), float(np.sin(np.radians(angle)))


def _rgba(colour: str) -> tuple[float, float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue, 1.0
