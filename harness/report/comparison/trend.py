"""Runs over time, as a page, figures and a table: where each variant's time or counters changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from harness.cases import how_many
from harness.comparison.history import History, Series
from harness.journal import run_files
from harness.quantities import QUANTITIES
from harness.report import format as fmt
from harness.report import site
from harness.report.anchors import slug
from harness.report.comparison import words
from harness.report.figures.style import Figure, Subject, render
from harness.report.figures.trend import draw_trend
from harness.report.tables.cells import Cell, Column, Row, Table, show
from harness.tables import Run
from harness.tables.files import inert_table

PAGE, CSV = "trend.html", "trend.csv"
MOST_FIGURES = 24
"""The maximum number of figures on a page; those with a change come first."""


@dataclass(frozen=True)
class Page:
    title: str
    device: str
    changes: Table
    figures: list[Figure]
    left_out: int
    """Figures that are not drawn, because there are too many."""
    runs: Table
    apart: list[str]


def write(history: History, folder: Path) -> Path:
    """Write trend.html, trend.csv and figures/*.png to a folder of their own; return the page's
    path."""
    text = inert_table(table(history)).to_csv(index=False, float_format="%.10g")
    run_files.write(folder, CSV, str(text))
    figures = list(_figures(history, folder))
    page = Page(
        headline(history), words.device(history.runs[-1]), _changes(history),
        figures[:MOST_FIGURES], max(0, len(figures) - MOST_FIGURES), _runs(history),
        [f"{words.side(run)}: of {device}" for run, device in history.apart],
    )  # fmt: skip
    run_files.write(folder, PAGE, site.alone("trend.html.j2", history.runs[-1], page=page))
    return folder / PAGE


def headline(history: History) -> str:
    n, changed = len(history.runs), len(history.changed)
    level = "one new level" if changed == 1 else f"{changed or 'no'} new levels"
    return f"{level[0].upper()}{level[1:]} in {how_many(n, 'run')}"


def told(history: History) -> Iterator[str]:
    """Every new level on its own line, the latest first."""
    for series, at in history.changed:
        run = history.runs[series.points[at].run]
        before, after = _step(series, at)
        yield f"{series.case.case}: {_what(series)} {before} → {after} at {label(run)}"


def table(history: History) -> pd.DataFrame:
    """One row per case, quantity and run."""
    rows = []
    for series in history.series:
        for i, point in enumerate(series.points):
            run = history.runs[point.run]
            rows.append(
                {
                    "case": series.case.case, "what": series.what,
                    "unit": "ns" if series.what == "time" else QUANTITIES[series.what].unit,
                    "run": run.info.get("id"), "started": run.info.get("started"),
                    "commit": (run.info.get("commit") or {}).get("id"),
                    "value": point.value, "low": point.low, "high": point.high,
                    "new_level": i in series.levels,
                }
            )  # fmt: skip
    columns = ["case", "what", "unit", "run", "started", "commit", "value", "low", "high",
               "new_level"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def label(run: Run) -> str:
    """The label of a run on an axis: its commit, or its date."""
    commit = (run.info.get("commit") or {}).get("id")
    return str(commit)[:7] if commit else str(run.info.get("started", ""))[:10]


def _what(series: Series) -> str:
    return "time" if series.what == "time" else QUANTITIES[series.what].words


def _step(series: Series, at: int) -> tuple[str, str]:
    before, after = series.step(at)
    if series.what == "time":
        return fmt.time(before), fmt.time(after)
    quantity = QUANTITIES[series.what]
    return show(quantity, before), show(quantity, after)


def _changes(history: History) -> Table:
    columns = [Column("case", numeric=False), Column("what", numeric=False), Column("before"),
               Column("after"), Column("change"), Column("since", numeric=False)]  # fmt: skip
    found = Table("new-levels", "New levels, the latest first", columns, css="cards")
    for series, at in history.changed:
        before, after = series.step(at)
        texts = _step(series, at)
        part = 100 * (after / before - 1) if before else float("inf")
        change = f"{'+' if part > 0 else '−'}{fmt.percent(abs(part))}" if before else "from 0"
        run = history.runs[series.points[at].run]
        found.rows.append(
            Row([Cell(series.case.case, css="name"), Cell(_what(series), css="wrap"),
                 Cell(texts[0], before), Cell(texts[1], after), Cell(change, part),
                 Cell(words.side(run), css="wrap")])
        )  # fmt: skip
    return found


def _runs(history: History) -> Table:
    columns = [Column(name, numeric=False)
               for name in ("run", "started", "commit", "driver", "nvcc")]  # fmt: skip
    found = Table("runs", "The runs", columns, css="cards")
    for run in history.runs:
        info = run.info
        said = [info.get("id"), str(info.get("started", ""))[:16],
                (info.get("commit") or {}).get("id", "")[:10], info.get("driver"),
                (info.get("versions") or {}).get("nvcc")]  # fmt: skip
        found.rows.append(Row([Cell(str(each or "–"), css="wrap") for each in said]))
    return found


def _figures(history: History, folder: Path) -> Iterator[Figure]:
    """One figure for each problem, type, size and quantity that changed; for times, also unchanged
    ones."""
    by: dict[tuple[tuple[str, str, str], str], list[Series]] = {}
    for series in history.series:
        by.setdefault((series.group, series.what), []).append(series)
    drawn = [(key, found) for key, found in by.items()
             if key[1] == "time" or any(s.levels for s in found)]  # fmt: skip
    drawn.sort(key=lambda each: not any(s.levels for s in each[1]))
    labels = [label(run) for run in history.runs]
    for (group, what), found in drawn[:MOST_FIGURES]:
        name = " ".join(filter(None, group))
        relative = what == "time"
        title = f"{_what(found[0])[0].upper()}{_what(found[0])[1:]}, {name}"
        unit = "change since the first run, %" if relative else _what(found[0])
        yield render(
            folder, slug(f"trend-{what}-{name}"), title,
            Subject(name, words.device(history.runs[-1])),
            "One line per variant; a ring is where a new level begins. "
            + ("Grey: no change." if any(s.levels for s in found) else "No variant changed."),
            partial(draw_trend, found, labels, unit, relative),
        )  # fmt: skip
