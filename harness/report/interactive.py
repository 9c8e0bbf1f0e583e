"""The same figures to explore: hover for a value, zoom, hide a series. Drawn by Plotly on demand.

The page shows SVG, which needs no script and prints. Plotly's library, 4.8 MB, goes into the page
once, compressed to a third, and is unpacked by the browser when a reader first explores a figure.
Colours are roles here too, so that a figure follows the reader's light or dark scheme.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from harness.analysis.roofline import Roofline
from harness.report import format as fmt
from harness.report.figures_roofline import MARKS, frame_of
from harness.report.figures_timed import axis_of, lines_over_size
from harness.report.ladder import Ladder
from harness.report.style import LIGHT

C = LIGHT
_NAME = "<extra>%{fullData.name}</extra>"
_SYMBOLS = {"o": "circle", "s": "square", "^": "triangle-up"}


@cache
def library() -> str:
    """Plotly's own JavaScript, gzip in base64: the same bytes each time."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()


def spec(figure: go.Figure) -> Markup:
    """A figure as JSON for a script element: colours as roles, nothing that ends the element."""
    parts: dict[str, Any] = figure.to_plotly_json()
    text = json.dumps({"data": parts["data"], "layout": parts["layout"]}, allow_nan=False)
    for role, colour in LIGHT.items():
        text = text.replace(colour, f"var(--{role})")
    return Markup(text.replace("<", "\\u003c"))


def _canvas(x: str, y: str, **layout: Any) -> go.Figure:
    axis = {"gridcolor": C["grid"], "linecolor": C["muted"], "zeroline": False}
    figure = go.Figure()
    figure.update_layout(
        template=None, paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", height=560,
        font={"color": C["ink"], "size": 12}, margin={"l": 70, "r": 20, "t": 30, "b": 110},
        legend={"orientation": "h", "y": -0.14, "yanchor": "top"}, hovermode="closest",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": C["muted"], "activecolor": C["ink"]},
        hoverlabel={"bgcolor": C["panel"], "font": {"color": C["ink"]}},
        xaxis={"title": {"text": x}, **axis}, yaxis={"title": {"text": y}, **axis}, **layout,
    )  # fmt: skip
    return figure


def roofline(chart: Roofline) -> Markup:
    """Every point by name, with its level, intensity and rate on hover."""
    frame = frame_of(chart)
    figure = _canvas("Arithmetic intensity, flop/byte", "Rate, flop/s")
    figure.update_xaxes(type="log", range=_decades(frame.left, frame.right))
    figure.update_yaxes(type="log", range=_decades(frame.bottom, frame.top), exponentformat="SI")
    peak = max((r.value.value for r in chart.roofs if r.level is None), default=frame.top)
    for roof in chart.roofs:
        value = roof.value.value
        if roof.level is None:
            xs, ys = [frame.left, frame.right], [value, value]
        else:
            xs = [frame.left, peak / value]
            ys = [frame.left * value, peak]
        unit = "flop/s" if roof.level is None else "byte/s"
        figure.add_scatter(
            x=xs, y=ys, mode="lines", name=roof.label, hoverinfo="name+text",
            text=f"{value:.4g} {unit}", line={"color": C["muted"], "width": 1.5,
            "dash": "solid" if roof.name in {"read_bandwidth", "fp32_rate"} else "dash"},
        )  # fmt: skip
    for level, (marker, role, title) in MARKS.items():
        points = [(k, x) for k in chart.kernels if (x := k.at(level)) is not None]
        if not points:
            continue
        hollow = "-open" if level == "compulsory" else ""
        figure.add_scatter(
            x=[x for _, x in points], y=[k.rate.value for k, _ in points], mode="markers",
            name=title, marker={"symbol": _SYMBOLS[marker] + hollow, "color": C[role], "size": 9},
            text=[_hover(k.planned.variant, k.flops_from) for k, _ in points],
            hovertemplate="%{text}<br>%{x:.4g} flop/byte<br>%{y:.4s}flop/s" + _NAME,
        )  # fmt: skip
    return spec(figure)


def _hover(variant: str, origin: str) -> str:
    return f"<b>{variant}</b><br>flops: {origin}"


def _decades(low: float, high: float) -> list[float]:
    return [math.log10(low), math.log10(high)]


def over_size(ladders: Sequence[Ladder]) -> Markup:
    """A line a variant, with its rate at each size on hover."""
    measure, key = ladders[0].measure, axis_of(list(ladders))
    figure = _canvas(
        "Compulsory traffic, bytes" if key == "bytes" else f"{key} (elements)",
        f"{measure.name}, {measure.unit}",
    )
    lines = lines_over_size(list(ladders))
    xs = sorted({x for line in lines for x, _ in line.points})
    figure.update_xaxes(type="log", tickvals=xs, ticktext=[fmt.count(x) for x in xs])
    figure.update_yaxes(rangemode="tozero")
    for line in lines:
        figure.add_scatter(
            x=[x for x, _ in line.points], y=[y for _, y in line.points], name=line.variant,
            mode="lines+markers", line={"color": C[line.role],
                "width": 1.2 if line.role == "faint" else 2.4,
                "dash": "dash" if line.role == "library" else "solid"},
            hovertemplate="%{y:,.4g} " + measure.unit + _NAME,
        )  # fmt: skip
    if measure.limit:
        figure.add_hline(
            measure.limit.value, line={"color": C["muted"], "dash": "dash", "width": 1.2}
        )
    return spec(figure)


def ladder(found: Ladder) -> Markup:
    """Bars with their intervals; the launch shape and time on hover."""
    figure = _canvas(f"{found.measure.name}, {found.measure.unit}", "", showlegend=False)
    rungs = [*found.rungs, *([found.library] if found.library else [])]
    roles = [
        "library" if r.planned.is_library
        else "accent" if r is found.winner or r in found.tied
        else "baseline" if r.planned.is_baseline
        else "other"
        for r in rungs
    ]  # fmt: skip
    figure.add_bar(
        y=[r.planned.variant for r in rungs], x=[r.rate.value for r in rungs], orientation="h",
        marker={"color": [C[role] for role in roles]},
        error_x={"type": "data", "symmetric": False, "color": C["ink"], "thickness": 1.4,
                 "array": [r.rate.high - r.rate.value for r in rungs],
                 "arrayminus": [r.rate.value - r.rate.low for r in rungs]},
        text=[_told(r.planned.launch, fmt.time_interval(r.time)) for r in rungs],
        textposition="none",
        hovertemplate="%{x:,.4g} " + found.measure.unit + "<br>%{text}<extra>%{y}</extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed", automargin=True)
    ends = [r.rate.high for r in rungs]
    if found.measure.limit:
        ends.append(found.measure.limit.high)
    figure.update_xaxes(range=[0, 1.02 * max(ends)])
    if found.measure.limit:
        figure.add_vline(found.measure.limit.value,
                         line={"color": C["muted"], "dash": "dash", "width": 1.2})  # fmt: skip
    return spec(figure)


def _told(launch: dict[str, int], time: str) -> str:
    return re.sub("<br>$", "", f"{time}<br>{', '.join(f'{k} {v}' for k, v in launch.items())}")
