"""A ladder at the height of a text line: one bar per variant, for a row of the overview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

_HEIGHT, _GAP, _WIDTH = 24.0, 1.5, 110.0


@dataclass(frozen=True)
class Bar:
    """height: as a fraction of the tallest bar; None draws a failure mark. `role`: a colour's
    name."""

    name: str
    part: float | None
    role: str


def sparkline(bars: Sequence[Bar], title: str) -> Markup:
    """An inline SVG of bars in the order given; their names appear on hover and are available to
    screen readers."""
    each = min((_WIDTH + _GAP) / max(len(bars), 1) - _GAP, 9.0)
    width = len(bars) * (each + _GAP)
    drawn = Markup("").join(_drawn(bar, i * (each + _GAP), each) for i, bar in enumerate(bars))
    text = (
        '<svg class="spark" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
        'role="img" aria-label="{title}">{drawn}</svg>'
    )
    size = {"wide": f"{width:.1f}", "high": f"{_HEIGHT:g}"}
    return Markup(text).format(title=title, drawn=drawn, **size)


def _drawn(bar: Bar, x: float, width: float) -> Markup:
    tall = _HEIGHT if bar.part is None else max(_HEIGHT * bar.part, 1.0)
    role = "failed" if bar.part is None else bar.role
    if bar.part is None:
        tall = 5.0
    text = '<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
    return Markup(text).format(
        role, f"{x:.1f}", f"{_HEIGHT - tall:.1f}", f"{width:.1f}", f"{tall:.1f}", bar.name
    )
