"""A sheet as SVG for a page: colours are CSS variables, the font is the page's."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from markupsafe import Markup, escape

from harness.report.figures.labels import Box
from harness.report.figures.sheet.items import Bar, Item, Line, Mark, Point, Sheet, Text

_HATCH = 4.8
"""The distance between the lines of a hatching, along either axis."""


def write(sheet: Sheet, name: str, title: str) -> Markup:
    """An element to be inlined, without a fixed size. `name`: unique on the page."""
    return Markup(_Writer(sheet, name).written(title))


class _Writer:
    def __init__(self, sheet: Sheet, name: str) -> None:
        self._sheet = sheet
        # Short ids: a figure names its clip path with every line.
        self._own = f"f{zlib.crc32(name.encode()):x}"
        self._clips: dict[Box, str] = {}
        self._hatches: dict[str, str] = {}

    def written(self, title: str) -> str:
        width, height = _n(self._sheet.width), _n(self._sheet.height)
        body = "".join(self._item(item) for item in self._sheet.ordered())
        defined = "".join(
            f'<clipPath id="{name}">{self._rect(box)}/></clipPath>'
            for box, name in self._clips.items()
        ) + "".join(_pattern(role, name) for role, name in self._hatches.items())
        return (
            f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
            f'<rect width="{width}" height="{height}" style="fill: var(--panel)"/>{body}'
            f"{f'<defs>{defined}</defs>' if defined else ''}</svg>"
        )

    def _item(self, item: Item) -> str:
        if isinstance(item, Text):
            return self._text(item)
        if isinstance(item, Line):
            return self._line(item)
        return self._bar(item) if isinstance(item, Bar) else self._mark(item)

    def _line(self, line: Line) -> str:
        style = f"fill: none; stroke: var(--{line.role}); stroke-width: {_n(line.width)}"
        if line.dashes:
            on, off = (_n(each * line.width) for each in line.dashes)
            style += f"; stroke-dasharray: {on},{off}"
        if line.square:
            style += "; stroke-linecap: square"
        if line.opacity < 1:
            style += f"; stroke-opacity: {line.opacity}"
        return f'<path d="{self._path(line.points)}"{self._clip(line.within)} style="{style}"/>'

    def _bar(self, bar: Bar) -> str:
        fill = f"var(--{bar.role})"
        if bar.hatched:
            name = self._hatches.setdefault(bar.role, f"{self._own}-h{len(self._hatches)}")
            fill = f"url(#{name}); stroke: {fill}; stroke-width: 0.6"
        return f'{self._rect(bar.box)}{self._clip(bar.within)} style="fill: {fill}"/>'

    def _mark(self, mark: Mark) -> str:
        (x, y), half = mark.at, mark.size / 2
        fill = "none" if mark.hollow else f"var(--{mark.role})"
        style = f"fill: {fill}; stroke: var(--{mark.role}); stroke-width: {_n(mark.edge)}"
        if mark.shape == "s":
            shape = self._rect(Box(x - half, y - half, x + half, y + half))
        elif mark.shape == "^":
            corners = (x, y + half), (x - half, y - half), (x + half, y - half)
            shape = f'<path d="{self._path(corners)} z"'
        else:
            shape = f'<circle cx="{_n(x)}" cy="{self._y(y)}" r="{_n(half)}"'
        return f'{shape}{self._clip(mark.within)} style="{style}"/>'

    def _text(self, text: Text) -> str:
        style = f"font-size: {_n(text.size)}px"
        if text.bold:
            style = f"font-weight: 700; {style}"
        if text.across != "start":
            style += f"; text-anchor: {text.across}"
        style += f"; fill: var(--{text.role})"
        found = []
        for line, (x, y) in text.lines():
            turned = ""
            if text.angle:
                turned = f' transform="rotate({_n(-text.angle)} {_n(x)} {self._y(y)})"'
            found.append(f'<text style="{style}" x="{_n(x)}" y="{self._y(y)}"{turned}>'
                         f"{escape(line)}</text>")  # fmt: skip
        return "".join(found)

    def _clip(self, box: Box | None) -> str:
        if box is None:
            return ""
        name = self._clips.setdefault(box, f"{self._own}-{len(self._clips)}")
        return f' clip-path="url(#{name})"'

    def _path(self, points: Iterable[Point]) -> str:
        return "M" + " L".join(f"{_n(x)} {self._y(y)}" for x, y in points)

    def _rect(self, box: Box) -> str:
        """A rectangle's element, still open."""
        size = f'width="{_n(box.right - box.left)}" height="{_n(box.top - box.bottom)}"'
        return f'<rect x="{_n(box.left)}" y="{self._y(box.top)}" {size}'

    def _y(self, y: float) -> str:
        """In SVG, y grows downwards."""
        return _n(self._sheet.height - y)


def _pattern(role: str, name: str) -> str:
    tile, half = _n(_HATCH), _n(_HATCH / 2)
    path = f"M-{half} {half} L{half} -{half} M0 {tile} L{tile} 0"
    path += f" M{half} {_n(1.5 * _HATCH)} L{_n(1.5 * _HATCH)} {half}"
    return (
        f'<pattern id="{name}" patternUnits="userSpaceOnUse" width="{tile}" height="{tile}">'
        f'<path d="{path}" style="stroke: var(--{role}); stroke-width: 0.6"/></pattern>'
    )


def _n(value: float) -> str:
    """A number with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
