"""Interactive versions of the figures: hover for a value, zoom, hide a series. Uses Plotly.

A page shows SVG, which needs no script and prints well. Plotly's library, 4.8 MB, is stored once
next to the pages and loaded when a reader first explores a figure; a single-file page contains the
library, compressed to a third. As in the SVG, colours are roles, so a figure follows the reader's
light or dark scheme.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from harness.analysis.ladder import Ladder, Rung
from harness.analysis.roofline import Roofline
from harness.report import format as fmt
from harness.report.figures.ladder import role_of
from harness.report.figures.over_size import axis_title, limits_over_size, lines_over_size
from harness.report.figures.roofline import MARKS, frame_of
from harness.report.figures.style import LIGHT
from harness.statistics.intervals import Interval

_NAME = "<extra>%{fullData.name}</extra>"
_SYMBOLS = {"o": "circle", "s": "square", "^": "triangle-up"}
Trace = dict[str, Any]


def library() -> str:
    """Plotly's own JavaScript."""
    text: str = get_plotlyjs()
    return text


@cache
def packed() -> str:
    """Plotly's JavaScript as gzip in base64, reproducible byte for byte."""
    return base64.b64encode(gzip.compress(library().encode(), 9, mtime=0)).decode()


def _role(name: str) -> str:
    """A colour that the page's script looks up when it draws."""
    assert name in LIGHT
    return f"var(--{name})"


def _spec(traces: Sequence[Trace], x: Trace, y: Trace, **layout: Any) -> Markup:
    """A figure as JSON for a script element, without text that would end the element."""
    axis = {"gridcolor": _role("grid"), "linecolor": _role("muted"), "zeroline": False}
    ink = {"color": _role("ink")}
    whole = {
        "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "height": 560,
        "font": {**ink, "size": 12}, "margin": {"l": 70, "r": 20, "t": 30, "b": 110},
        "legend": {"orientation": "h", "y": -0.14, "yanchor": "top"}, "hovermode": "closest",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": _role("muted"),
                    "activecolor": _role("ink")},
        "hoverlabel": {"bgcolor": _role("panel"), "font": ink},
        "xaxis": {**axis, **x}, "yaxis": {**axis, **y}, **layout,
    }  # fmt: skip
    text = json.dumps({"data": list(traces), "layout": whole}, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _line(**where: Any) -> Trace:
    """A dashed line across the whole figure."""
    dashed = {"color": _role("muted"), "dash": "dash", "width": 1.2}
    return {"type": "line", "line": dashed, **where}


def plain(name: str) -> str:
    """Escape a name for Plotly's text, which interprets some HTML."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def roofline(chart: Roofline) -> Markup:
    """Every point by name, with its level, intensity and rate on hover."""
    frame = frame_of(chart)
    peak = max((r.value.value for r in chart.roofs if r.level is None), default=frame.top)
    traces: list[Trace] = []
    for roof in chart.roofs:
        value = roof.value.value
        flat = roof.level is None
        solid = roof.name in {"read_bandwidth", "fp32_rate"}
        traces.append({
            "type": "scatter", "mode": "lines", "name": roof.label, "hoverinfo": "name+text",
            "x": [frame.left, frame.right if flat else peak / value],
            "y": [value, value] if flat else [frame.left * value, peak],
            "text": f"{value:.4g} {'flop/s' if flat else 'byte/s'}",
            "line": {"color": _role("muted"), "width": 1.5, "dash": "solid" if solid else "dash"},
        })  # fmt: skip
    for level, (marker, role, title) in MARKS.items():
        points = [(k, x) for k in chart.kernels if (x := k.at(level)) is not None]
        if not points:
            continue
        hollow = "-open" if level == "compulsory" else ""
        traces.append({
            "type": "scatter", "mode": "markers", "name": title,
            "x": [x for _, x in points], "y": [k.rate.value for k, _ in points],
            "marker": {"symbol": _SYMBOLS[marker] + hollow, "color": _role(role), "size": 9},
            "text": [f"<b>{plain(k.short)}</b><br>flops: {k.flops_from}" for k, _ in points],
            "hovertemplate": "%{text}<br>%{x:.4g} flop/byte<br>%{y:.4s}flop/s" + _NAME,
        })  # fmt: skip
    return _spec(
        traces,
        {"title": {"text": "Arithmetic intensity, flop/byte"}, "type": "log",
         "range": _decades(frame.left, frame.right)},
        {"title": {"text": "Rate, flop/s"}, "type": "log", "exponentformat": "SI",
         "range": _decades(frame.bottom, frame.top)},
    )  # fmt: skip


def _decades(low: float, high: float) -> list[float]:
    return [math.log10(low), math.log10(high)]


def over_size(ladders: Sequence[Ladder]) -> Markup:
    """One line per variant, with its rate at each size on hover."""
    measure, lines = ladders[0].measure, lines_over_size(list(ladders))
    xs = sorted({x for line in lines for x, _ in line.points})
    traces: list[Trace] = [
        {
            "type": "scatter", "mode": "lines+markers", "name": plain(line.variant),
            "x": [x for x, _ in line.points], "y": [y for _, y in line.points],
            "line": {"color": _role(line.role), "width": 1.2 if line.role == "faint" else 2.4,
                     "dash": "dash" if line.role == "library" else "solid"},
            "hovertemplate": "%{y:,.4g} " + measure.unit + _NAME,
        }
        for line in lines
    ]  # fmt: skip
    if limits := limits_over_size(ladders):
        traces.append({
            "type": "scatter", "mode": "lines", "name": "ceiling",
            "x": [x for x, _ in limits], "y": [y for _, y in limits],
            "line": {"color": _role("muted"), "width": 1.2, "dash": "dash"},
            "hovertemplate": "%{y:,.4g} " + measure.unit + _NAME,
        })  # fmt: skip
    return _spec(
        traces,
        {"title": {"text": axis_title(list(ladders))}, "type": "log", "tickvals": xs,
         "ticktext": [fmt.count(x) for x in xs]},
        {"title": {"text": f"{measure.name}, {measure.unit}"}, "rangemode": "tozero"},
    )  # fmt: skip


def ladder(found: Ladder) -> Markup:
    """Bars with their intervals, and the launch shape and time on hover."""
    rungs, measure = found.everyone, found.measure
    rates = [r.rate for r in rungs]
    trace: Trace = {
        "type": "bar", "orientation": "h", "y": [plain(r.planned.variant) for r in rungs],
        "x": [rate.value for rate in rates], "textposition": "none",
        "marker": {"color": [_role(role_of(found, r)) for r in rungs]},
        "error_x": {"type": "data", "symmetric": False, "color": _role("ink"), "thickness": 1.4,
                    "array": [rate.high - rate.value for rate in rates],
                    "arrayminus": [rate.value - rate.low for rate in rates]},
        "text": [_told(r) for r in rungs],
        "hovertemplate": "%{x:,.4g} " + measure.unit + "<br>%{text}<extra>%{y}</extra>",
    }  # fmt: skip
    limit: Interval | None = measure.limit
    ends = [rate.high for rate in rates] + ([limit.high] if limit else [])
    shapes = [_line(yref="paper", y0=0, y1=1, x0=limit.value, x1=limit.value)] if limit else []
    return _spec(
        [trace],
        {"title": {"text": f"{measure.name}, {measure.unit}"}, "range": [0, 1.02 * max(ends)]},
        {"autorange": "reversed", "automargin": True},
        shapes=shapes, showlegend=False,
    )  # fmt: skip


def _told(rung: Rung) -> str:
    shape = ", ".join(f"{name} {value}" for name, value in rung.planned.launch.items())
    return "<br>".join(filter(None, (fmt.time_interval(rung.time), plain(shape))))
