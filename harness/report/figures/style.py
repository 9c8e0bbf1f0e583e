"""The common style of figures: one drawing function serves light and dark pages, phones, print and
files.

A figure is drawn by one function for two widths. Its colours are roles: the SVG in the page refers
to them as CSS variables, so the reader's colour scheme applies; the PNG is light. The colours are
from the palette of Okabe and Ito, which colour-blind readers can distinguish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from harness.journal import run_files
from harness.report.figures.labels import Box
from harness.report.figures.sheet import svg
from harness.report.figures.sheet.axes import Axes, Scale
from harness.report.figures.sheet.items import Bar, Sheet, Text

LIGHT = {
    "ink": "#1b1f24", "muted": "#5c636b", "grid": "#e3e6ea", "panel": "#fffffe",
    "accent": "#0072b2", "other": "#a9cfe8", "baseline": "#8d8f93", "library": "#d55e00",
    "counted": "#b3578a", "failed": "#b03a00", "contrast": "#fefefe",
    "s1": "#009e73", "s2": "#e69f00", "s3": "#cc79a7", "s4": "#56b4e9", "faint": "#bcc1c7",
}  # fmt: skip
DARK = LIGHT | {
    "ink": "#e8eaed", "muted": "#a3aab2", "grid": "#343a41", "panel": "#1a1d21",
    "accent": "#56b4e9", "other": "#2c5878", "baseline": "#7d8288", "library": "#f08a3c",
    "counted": "#d98cb8", "failed": "#ff9a66", "contrast": "#10161c", "faint": "#596069",
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The width in inches for which a figure is drawn; narrow is for a phone held upright."""

    width: float
    narrow: bool


NOTHING = Markup("")
WIDE, NARROW = Layout(10.0, False), Layout(3.9, True)
Draw = Callable[[Layout], Sheet]


@dataclass(frozen=True)
class Subject:
    """The subject of a figure, for the title of its PNG: problem, type and size; the card."""

    what: str
    card: str


@dataclass(frozen=True)
class Figure:
    """A figure as a page shows it: drawings for two widths, its texts, and its data."""

    anchor: str
    title: str
    caption: str
    wide: Markup
    narrow: Markup
    png: str
    """Path from the run's folder."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    explore: Markup = NOTHING
    """The figure for Plotly, as JSON; empty if there is nothing to explore."""


def render(
    folder: Path,
    anchor: str,
    title: str,
    subject: Subject,
    caption: str,
    draw: Draw,
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    explore: Markup = NOTHING,
) -> Figure:
    """Draw the figure at both widths, write a PNG to `folder`/figures, and return what the page
    embeds."""
    png = f"figures/{anchor}.png"
    wide, narrow = draw(WIDE), draw(NARROW)
    svgs = svg.write(wide, f"{anchor}-wide", title), svg.write(narrow, f"{anchor}-narrow", title)
    run_files.write(folder, png, _png(wide, title, subject))
    return Figure(anchor, title, caption, *svgs, png, columns, rows, explore)


_HEAD = 33.12
"""The height of a PNG's title, in points."""


def _png(sheet: Sheet, title: str, subject: Subject) -> bytes:
    """Draw the PNG. The PNG is used outside the page, so its title describes the figure and names
    the card."""
    from harness.report.figures.sheet import png  # here, as matplotlib takes long to import

    titled = Sheet(sheet.width, sheet.height + _HEAD, list(sheet.items))
    titled.add(Text(title, (7.2, sheet.height + 25.92), "ink", 10.5, bold=True))
    what = f"{subject.what}, {subject.card}"
    titled.add(Text(what, (7.2, sheet.height + 8.64), "muted"))
    return png.write(titled, LIGHT)


def variables(colours: dict[str, str]) -> str:
    """The roles as CSS custom properties."""
    return " ".join(f"--{role}: {colour};" for role, colour in colours.items())


def canvas(
    layout: Layout,
    height: float,
    left: float,
    right: float,
    top: float,
    bottom: float,
    x: Scale,
    y: Scale,
) -> Axes:
    """A sheet with one pair of axes inside margins; all lengths are in inches."""
    sheet = Sheet(72 * layout.width, 72 * height)
    frame = Box(72 * left, 72 * bottom, 72 * (layout.width - right), 72 * (height - top))
    return Axes(sheet, frame, x, y)


def covering(sheet: Sheet, text: Text, pad: float) -> None:
    """Add a text, centred vertically, on a patch that hides the lines behind it."""
    from harness.report.figures.sheet.png import width_of

    (x, y), width = text.at, width_of(text.text, text.size, text.bold)
    high = text.size / 2 + pad
    sheet.add(Bar(Box(x - pad, y - high, x + width + pad, y + high), "panel", z=text.z))
    sheet.add(text)


def cut(name: str, layout: Layout) -> str:
    """Shorten a name to leave room for the drawing; tables have the full name."""
    most = 15 if layout.narrow else 40
    return name if len(name) <= most else f"{name[: most - 1]}…"


def text_width(text: str, size: float = 8.5) -> float:
    """The approximate width of a text in inches: enough to reserve a margin for it."""
    return len(text) * size * 0.63 / 72


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Move the positions apart as little as possible, keeping their order, within both ends.

    Neighbours are `gap` apart, or less if there is not enough room. The method is least squares
    under an order (isotonic regression by pooling adjacent violators; Barlow et al., 1972).
    """
    if not positions:
        return []
    gap = min(gap, (high - low) / max(len(positions) - 1, 1))
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    pools: list[list[float]] = []  # the sum of a pooled group, and its size
    for n, i in enumerate(order):
        pools.append([positions[i] - n * gap, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    placed = [total / count for total, count in pools for _ in range(int(count))]
    most = high - (len(positions) - 1) * gap
    result = [0.0] * len(positions)
    for n, (i, place) in enumerate(zip(order, placed, strict=True)):
        result[i] = min(max(place, low), most) + n * gap
    return result
