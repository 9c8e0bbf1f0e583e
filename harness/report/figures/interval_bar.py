"""A change and its interval, drawn as a bar in a table row, on a scale centred on no change."""

from __future__ import annotations

import math

from markupsafe import Markup

from harness.statistics.intervals import Interval

WIDTH, HEIGHT = 132, 16
_EDGE = 4
MOST = 1.1


def interval_bar(ratio: Interval, most: float, css: str) -> Markup:
    """The bar of a change. `most`: the logarithm at either edge; larger changes are cut off
    there."""

    def at(value: float) -> float:
        part = max(-1.0, min(1.0, math.log(value) / most))
        return round(WIDTH / 2 + part * (WIDTH / 2 - _EDGE), 1)

    low, middle, high = (at(x) for x in (ratio.low, ratio.value, ratio.high))
    return Markup(
        '<svg class="interval" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true">'
        '<path class="none" d="M{zero} 0V{h}"/><path class="{css}" d="M{low} {y}H{high}"/>'
        '<circle class="{css}" cx="{middle}" cy="{y}" r="3.2"/></svg>'
    ).format(w=WIDTH, h=HEIGHT, zero=WIDTH / 2, y=HEIGHT / 2, low=low, high=high, middle=middle,
             css=css)  # fmt: skip


def reach(ratios: list[Interval]) -> float:
    """The scale for all bars of a table: the largest logarithm among them, capped at the logarithm
    of `MOST`, so that one large change does not make the others invisible."""
    ends = [abs(math.log(x)) for r in ratios for x in (r.low, r.high)]
    return min(max(ends, default=0.0), math.log(MOST)) or 1.0
