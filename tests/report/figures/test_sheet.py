"""A sheet's PNG is the picture that matplotlib draws of the same figure; its SVG tells the same."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib import ticker
from matplotlib.figure import Figure
from PIL import Image

from harness.report.figures.labels import Box
from harness.report.figures.sheet import png, svg, ticks
from harness.report.figures.sheet.axes import Axes, Scale
from harness.report.figures.sheet.items import (
    DASHED,
    DOTTED,
    LONG,
    Bar,
    Item,
    Line,
    Mark,
    Sheet,
    Text,
)
from harness.report.figures.style import LIGHT

WIDTH, HEIGHT = 360.0, 216.0
ANCHORED = {"rotation_mode": "anchor"}


def of_sheet(*items: Item) -> Any:
    return pixels(png.write(Sheet(WIDTH, HEIGHT, list(items)), LIGHT))


def of_matplotlib(draw: Callable[[Any], object]) -> Any:
    """A figure of the same size, on whose only axes a unit is a point."""
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), facecolor=LIGHT["panel"])
    rules = {
        "text.hinting": "none",
        "text.parse_math": False,
        "font.family": "DejaVu Sans",
        "hatch.linewidth": 0.6,
    }
    with matplotlib.rc_context(rules):  # type: ignore[arg-type]
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(0, HEIGHT))
        axes.set_axis_off()
        draw(axes)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=png.DPI)
    return pixels(drawn.getvalue())


def pixels(drawn: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(drawn)).convert("RGB")).astype(int)


def _color(role: str) -> dict[str, str]:
    return {"color": LIGHT[role]}


BOTH: dict[str, tuple[list[Item], Callable[[Any], object]]] = {
    "a line": (
        [Line([(40, 40), (300.4, 170)], "accent", 2.0, square=True)],
        lambda a: a.plot([40, 300.4], [40, 170], lw=2, **_color("accent")),
    ),
    "a grid line, which lies on whole pixels": (
        [Line([(40.3, 20), (40.3, 200)], "grid", 0.8, square=True)],
        lambda a: a.plot([40.3, 40.3], [20, 200], lw=0.8, **_color("grid")),
    ),
    "dashed lines": (
        [Line([(40, 40), (300, 100)], "ink", 1.2, dashes=LONG),
         Line([(40, 60), (300, 120)], "library", 2.0, dashes=DASHED),
         Line([(40, 80), (300, 140)], "muted", 0.7, dashes=DOTTED)],
        lambda a: (a.plot([40, 300], [40, 100], lw=1.2, ls=(0, (4, 3)), **_color("ink")),
                   a.plot([40, 300], [60, 120], lw=2.0, ls="--", **_color("library")),
                   a.plot([40, 300], [80, 140], lw=0.7, ls=":", **_color("muted"))),
    ),
    "a line that shines through": (
        [Line([(40, 40), (300, 100)], "accent", 6.0, opacity=0.55, square=True)],
        lambda a: a.plot([40, 300], [40, 100], lw=6, alpha=0.55, **_color("accent")),
    ),
    "bars": (
        [Bar(Box(40.2, 50.3, 180.7, 61), "other"),
         Bar(Box(40.2, 70.3, 280.7, 81), "counted", hatched=True)],
        lambda a: (a.barh(50.3, 140.5, 10.7, 40.2, align="edge", **_color("other")),
                   a.barh(70.3, 240.5, 10.7, 40.2, align="edge", facecolor="none",
                          edgecolor=LIGHT["counted"], hatch="/////", linewidth=0.6)),
    ),
    "marks": (
        [Mark((40, 50), "o", 5, "accent", 0.6), Mark((80, 50), "s", 5, "s1", 0.6),
         Mark((120, 50), "^", 5, "s2", 0.6), Mark((160, 50), "o", 8, "muted", 1.2, hollow=True)],
        lambda a: [
            a.plot([x], [50], shape, ms=size, mew=edge, mfc=fill, **_color(role))
            for x, shape, size, role, edge, fill in (
                (40, "o", 5, "accent", 0.6, LIGHT["accent"]), (80, "s", 5, "s1", 0.6, LIGHT["s1"]),
                (120, "^", 5, "s2", 0.6, LIGHT["s2"]), (160, "o", 8, "muted", 1.2, "none"))
        ],
    ),
    "what is outside its frame": (
        [Line([(0, 100), (360, 100)], "ink", 2, square=True, within=Box(72, 36, 288, 180))],
        lambda a: a.plot([0, 360], [100, 100], lw=2, **_color("ink"))[0].set_clip_box(
            matplotlib.transforms.TransformedBbox(
                matplotlib.transforms.Bbox([[72, 36], [288, 180]]), a.transData)
        ),
    ),
    "texts at every anchor": (
        [Text("v1_shared, 3.5×", (60 + 100 * i, 40 + 40 * j), "ink", 8, across, up)
         for i, across in enumerate(("start", "middle", "end"))
         for j, up in enumerate(("top", "middle", "digits", "bottom"))],
        lambda a: [
            a.text(60 + 100 * i, 40 + 40 * j, "v1_shared, 3.5×", ha=ha, va=va, fontsize=8,
                   **_color("ink"))
            for i, ha in enumerate(("left", "center", "right"))
            for j, va in enumerate(("top", "center", "center_baseline", "bottom"))
        ],
    ),
    "bold, turned and on two lines": (
        [Text("2,048 $x$", (40, 60), "accent", 10.5, bold=True),
         Text("Rate, flop/s", (150, 100), "ink", 8.5, "middle", "bottom", angle=90),
         Text("L2 14.0 TB/s", (220, 100), "muted", 8, "middle", angle=33.0),
         Text("Sectors per\nload request", (270, 60), "ink", 8, up="bottom")],
        lambda a: (
            a.text(40, 60, "2,048 $x$", va="center", fontsize=10.5, weight="bold",
                   **_color("accent")),
            a.text(150, 100, "Rate, flop/s", ha="center", va="bottom", rotation=90, fontsize=8.5,
                   **ANCHORED, **_color("ink")),
            a.text(220, 100, "L2 14.0 TB/s", ha="center", va="center", rotation=33, fontsize=8,
                   **ANCHORED, **_color("muted")),
            a.text(270, 60, "Sectors per\nload request", va="bottom", fontsize=8, **_color("ink")),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BOTH)
def test_a_sheet_is_drawn_as_matplotlib_draws_the_same_figure(what: str) -> None:
    items, draw = BOTH[what]
    ours, theirs = of_sheet(*items), of_matplotlib(draw)
    assert ours.shape == theirs.shape
    assert np.ptp(theirs) > 20  # something is there
    assert np.abs(ours - theirs).max() <= 16  # by the palette


def test_what_has_the_larger_z_covers_the_rest() -> None:
    below = Bar(Box(0, 0, WIDTH, HEIGHT), "ink", z=2)
    above = Bar(Box(0, 0, WIDTH, HEIGHT), "accent", z=3)
    for order in ((below, above), (above, below)):
        assert (of_sheet(*order)[100, 100] == (0x00, 0x72, 0xB2)).all()
        found = re.findall(r"var\(--(\w+)\)", svg.write(Sheet(9, 9, [*order]), "a", "b"))
        assert found == ["panel", "ink", "accent"]


def test_the_svg_has_the_same_positions_counted_from_the_top() -> None:
    items: list[Item] = [
        Line([(1, 2), (3, 4.126)], "grid", 0.8, square=True, within=Box(0, 0, 50, 60)),
        Line([(1, 2), (3, 4)], "ink", 2, dashes=LONG, opacity=0.5),
        Bar(Box(10, 20, 30, 25), "other"),
        Bar(Box(10, 20, 30, 25), "counted", hatched=True),
        Mark((5, 6), "o", 8, "muted", 1.2, hollow=True),
        Mark((5, 6), "^", 4, "s2"),
        Text("a < b", (7, 8), "ink", 8, "end", "baseline", bold=True, angle=90),
    ]
    text = svg.write(Sheet(100, 200, items), "name", 'a "title"')
    assert text.startswith('<svg viewBox="0 0 100 200" role="img" aria-label="a &#34;title&#34;">')
    clip, hatch = re.findall(r'<(?:clipPath|pattern) id="([^"]+)"', text)
    for each in (
        f'<path d="M1 198 L3 195.87" clip-path="url(#{clip})" style="fill: none; '
        'stroke: var(--grid); stroke-width: 0.8; stroke-linecap: square"/>',
        "stroke-width: 2; stroke-dasharray: 8,6; stroke-opacity: 0.5",
        '<rect x="10" y="175" width="20" height="5" style="fill: var(--other)"/>',
        f"fill: url(#{hatch}); stroke: var(--counted)",
        f'<clipPath id="{clip}"><rect x="0" y="140" width="50" height="60"/></clipPath>',
        '<circle cx="5" cy="194" r="4" style="fill: none; stroke: var(--muted)',
        '<path d="M5 192 L3 196 L7 196 z" style="fill: var(--s2)',
        '<text style="font-weight: 700; font-size: 8px; text-anchor: end; fill: var(--ink)" '
        'x="7" y="192" transform="rotate(-90 7 192)">a &lt; b</text>',
    ):
        assert each in text


def test_the_names_of_two_figures_on_a_page_differ() -> None:
    sheet = Sheet(9, 9, [Line([(1, 1), (2, 2)], "ink", 1, within=Box(0, 0, 9, 9))])
    one, other = (re.findall('id="([^"]+)"', svg.write(sheet, name, "")) for name in "ab")
    assert one != other


@given(st.floats(-12, 12), st.floats(0.8, 30), st.integers(1, 30), st.sampled_from([2.0, 10.0]))
def test_powers_are_those_that_matplotlib_chooses(
    start: float, length: float, room: int, base: float
) -> None:
    for end in (start, start + length):  # where rounding decides whether a tick is at the end
        assume(not math.isclose(end, round(end), abs_tol=1e-6))
    low, high = base**start, base ** (start + length)
    theirs = [x for x in values_of(ticker.LogLocator(base), low, high, room) if low <= x <= high]
    assert ticks.powers(low, high, base, room) == pytest.approx(theirs, rel=1e-9)


@given(st.integers(-1000, 1000).map(lambda x: x / 10), st.floats(-3, 6), st.integers(1, 30))
def test_steps_are_those_that_matplotlib_chooses(low: float, power: float, room: int) -> None:
    high, slack = low + 10**power, 1e-9 * 10**power
    theirs = [
        x
        for x in values_of(ticker.AutoLocator(), low, high, room)
        if low - slack <= x <= high + slack
    ]
    assert ticks.steps(low, high, room) == pytest.approx(theirs, abs=slack)


def values_of(locator: Any, low: float, high: float, room: int) -> Any:
    locator.axis = SimpleNamespace(get_tick_space=lambda: room, get_minpos=lambda: low)
    return locator.tick_values(low, high)


def test_a_value_lies_where_its_scale_says() -> None:
    axes = Axes(Sheet(200, 100), Box(20, 10, 120, 60), Scale(1, 16, 2), Scale(4, 0))
    assert axes.at(1, 4) == pytest.approx((20, 10))
    assert axes.at(4, 2) == pytest.approx((70, 35))
    assert axes.at(16, 0) == pytest.approx((120, 60))


def test_a_bar_may_run_to_either_side_on_rows_that_are_counted_from_the_top() -> None:
    axes = Axes(Sheet(200, 100), Box(0, 0, 100, 100), Scale(-50, 50), Scale(3.5, -0.5))
    axes.bar(0, 10, -10, 1, "accent")
    [bar] = axes.sheet.items
    assert isinstance(bar, Bar)
    assert bar.box == Box(40, 75, 60, 100)
