"""The common style of figures: one drawing function serves light and dark pages, phones, print and
files.

One function draws a figure at two widths. Its colours are roles: the SVG in the page refers to them
as CSS variables, so the reader's colour scheme applies; the PNG is light. The colours are from the
palette of Okabe and Ito, which colour-blind readers can distinguish.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.transforms import Bbox
from PIL import Image

from harness.journal import run_files

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

_DEFAULTS = {
    name: value
    for name, value in matplotlib.rcParamsDefault.items()
    if not name.startswith(("backend", "date.epoch"))
}
"""Matplotlib's own. A `matplotlibrc` in the current folder, which may be anyone's, does nothing."""
_PARAMETERS = {
    "font.family": "DejaVu Sans", "font.size": 8.5, "text.parse_math": False,
    "text.color": LIGHT["ink"], "axes.labelcolor": LIGHT["ink"], "axes.edgecolor": LIGHT["muted"],
    "xtick.color": LIGHT["muted"], "ytick.color": LIGHT["ink"], "axes.facecolor": "none",
    "figure.facecolor": LIGHT["panel"], "axes.grid": False, "svg.fonttype": "none",
    "svg.hashsalt": "report", "axes.spines.top": False, "axes.spines.right": False,
    "text.hinting": "none", "hatch.linewidth": 0.6,
    "axes.labelsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The width in inches for which a figure is drawn; narrow is for a phone held upright."""

    width: float
    narrow: bool


NOTHING = Markup("")
WIDE, NARROW = Layout(10.0, False), Layout(3.9, True)
Draw = Callable[[Layout], Canvas]


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
    with matplotlib.rc_context(_DEFAULTS | _PARAMETERS):  # type: ignore[arg-type]
        wide, narrow = draw(WIDE), draw(NARROW)
        svgs = _svg(wide, f"{anchor}-wide", title), _svg(narrow, f"{anchor}-narrow", title)
        run_files.write(folder, png, _png(wide, title, subject))
    return Figure(anchor, title, caption, *svgs, png, columns, rows, explore)


_PNG_DPI = 120


def _png(figure: Canvas, title: str, subject: Subject) -> bytes:
    """Write the PNG. The PNG is used outside the page, so its title describes the figure and names
    the card."""
    width, height = figure.get_size_inches()
    head = 0.46
    for text, inches, size, role, weight in (
        (title, 0.36, 10.5, "ink", "bold"),
        (f"{subject.what}, {subject.card}", 0.12, 8.5, "muted", "normal"),
    ):
        figure.text(0.1 / width, 1 + inches / height, text, fontsize=size, va="center",
                    color=LIGHT[role], fontweight=weight)  # fmt: skip
    box = Bbox.from_bounds(0, 0, width, height + head)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="rgba", dpi=_PNG_DPI, bbox_inches=box)
    pixels = int(box.width * _PNG_DPI), int(box.height * _PNG_DPI)
    # A palette reduces the file to a third; colours are off by at most a few of 255 steps.
    image = Image.frombuffer("RGBA", pixels, drawn.getvalue(), "raw", "RGBA", 0, 1)
    nearest = image.convert("RGB").quantize(
        128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    stored = io.BytesIO()
    nearest.save(stored, "PNG", compress_level=8)
    return stored.getvalue()


def _svg(canvas: Canvas, prefix: str, title: str) -> Markup:
    """Prepare the drawing for inlining: unique ids, colours as variables, and no fixed size."""
    file = io.StringIO()
    canvas.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Ids are short because every line of a figure names its clip path.
    own = f"f{zlib.crc32(prefix.encode()):x}"
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', text))
    ids = {name: f"{own}-{number}" for number, name in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{ids[m[1]]}"' if m[1] in ids else "", text)
    text = re.sub(r'(href="|url\()#([^")]+)', lambda m: f"{m[1]}#{ids[m[2]]}", text)
    text = text.replace("font-family: 'DejaVu Sans'; ", "").replace(' transform="rotate(-0 ', "\0")
    text = re.sub(r'\0[^"]*"', "", text).replace("'DejaVu Sans'", "var(--figure-font)")
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text)
    for role, colour in LIGHT.items():
        text = text.replace(colour, f"var(--{role})")
    head = text[: text.index(">") + 1]
    box = re.search(r'viewBox="[^"]+"', head)
    assert box is not None
    opening = f'<svg {box.group()} role="img" aria-label="{Markup.escape(title)}">'
    body = re.sub(r"<g/>|\s*\n\s*(?=<)", "", text[len(head) :])
    return Markup(opening + re.sub(r"\s+", " ", body))


def variables(colours: dict[str, str]) -> str:
    """The roles as CSS custom properties."""
    return " ".join(f"--{role}: {colour};" for role, colour in colours.items())


def canvas(
    layout: Layout, height: float, left: float, right: float, top: float, bottom: float
) -> tuple[Canvas, Axes]:
    """A canvas with one axes inside margins given in inches."""
    figure = Canvas(figsize=(layout.width, height))
    width = layout.width
    axes = figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, 1 - (top + bottom) / height)
    )
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    return figure, axes


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
    under an order constraint (isotonic regression by pooling adjacent violators; Barlow et al.,
    1972).
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


def grid(axes: Axes, which: Any = "x") -> None:
    axes.grid(axis=which, color=LIGHT["grid"], linewidth=0.8)
