"""The page of a comparison: the verdict, the reasons, every change with its interval, the method.

It is one self-contained file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.analysis.lines.sources import Difference
from harness.comparison.changes import Change
from harness.comparison.judgement import CLOSED, Judgement
from harness.comparison.regression_metrics import GAUGES
from harness.comparison.sources import difference
from harness.comparison.times import TimeChange
from harness.report import format as fmt
from harness.report import site
from harness.report.anchors import case_anchor
from harness.report.comparison import words
from harness.report.comparison.words import Reason
from harness.report.figures.interval_bar import interval_bar, reach
from harness.report.tables.cells import Cell, Column, Row, Table, none, show

MOST_DIFFS = 40
"""The maximum number of source diffs on a page: those of a large ladder would take megabytes."""


@dataclass(frozen=True)
class ComparisonRow:
    """One case, and how it changed."""

    anchor: str
    variant: str
    about: str
    kind: str
    css: str
    meaning: str
    cells: list[tuple[str, Cell]]
    bar: Markup | None
    why: list[str]


@dataclass(frozen=True)
class Page:
    title: str
    device: str
    headline: str
    closed: bool
    reasons: list[Reason]
    untold: Sequence[str]
    told: list[ComparisonRow]
    untouched: list[ComparisonRow]
    columns: list[tuple[str, str]]
    """The heading and meaning of each cell in a line."""
    has_bars: bool
    folded: str
    diffs: list[tuple[str, Difference]]
    """Variant → the diff of its source."""
    sides: list[tuple[str, str]]
    apart: list[str]
    looked: list[str]
    meanings: list[tuple[str, str]]
    counters: Table
    gauges: Table


def text(judgement: Judgement) -> str:
    return site.alone("comparison.html.j2", judgement.new, page=_page(judgement))


def _page(judgement: Judgement) -> Page:
    timed = judgement.is_timed
    scale = reach([t.ratio for c in judgement.changes for t in c.times if t.ratio])
    lines = [(c, _line(c, timed, scale)) for c in judgement.changes]
    around = judgement.setting
    return Page(
        title=words.headline(judgement),
        device=words.device(judgement.new),
        headline=words.headline(judgement),
        closed=judgement.code == CLOSED,
        reasons=words.reasons(judgement),
        untold=judgement.untold,
        told=[line for c, line in lines if c.kind in words.TOLD],
        untouched=[line for c, line in lines if c.kind not in words.TOLD],
        columns=_columns(judgement),
        has_bars=any(line.bar for _, line in lines),
        folded=words.folded(judgement),
        diffs=list(_diffs(judgement)),
        sides=words.sides(judgement),
        apart=words.differences([*around.machine, *around.method, *around.context]),
        looked=list(words.looked_at(judgement)),
        meanings=[(k, words.MEANINGS[k]) for k in words.MEANINGS if judgement.counts[k]],
        counters=_counters(judgement),
        gauges=_gauges(),
    )


def _columns(judgement: Judgement) -> list[tuple[str, str]]:
    if not judgement.is_timed:
        return []
    over = "relative to each run's own baseline" if judgement.relative else "over the base's"
    return [
        ("cold", f"the new time {over}, from a cache that was emptied"),
        ("warm", f"the new time {over}, from a cache that holds the inputs"),
        ("bandwidth", "compulsory bytes over the time, from a cold cache; before and after"),
    ]


def _line(change: Change, timed: bool, scale: float) -> ComparisonRow:
    side = change.pair.new or change.pair.base
    assert side is not None
    p = side.planned
    about = ", ".join(filter(None, [p.problem, p.dtype, fmt.assignments(p.sizes),
                                    fmt.assignments(p.launch)]))  # fmt: skip
    cold, warm = (words.of_cache(change, cache) for cache in ("cold", "warm"))
    cells = []
    if timed:
        cells = [("cold", _timed(cold)), ("warm", _timed(warm)),
                 ("bandwidth", Cell(rate) if (rate := words.rate(cold)) else none())]  # fmt: skip
    shown = change.worst
    bar = None
    if shown and shown.ratio:
        bar = interval_bar(shown.ratio, scale, shown.verdict.replace(" ", "-"))
    why = [*(words.closing(change) if change.kind != "slower" else []), *words.beside(change)]
    if change.kind == "slower":
        why = [*(words.fact(f) for f in change.facts if f.decides), *words.beside(change)]
    elif change.kind in {"mended", "faulty in both", "no longer run", "not run"}:
        why = [fault for fault in dict.fromkeys(change.faults) if fault][:1]
    elif change.kind == "not compared":
        why = list(dict.fromkeys(t.reason for t in change.times if t.reason))
    css = "failed" if change.closes else ""
    return ComparisonRow(case_anchor(change.name), change.pair.variant, about, change.kind, css,
                words.MEANINGS[change.kind], cells, bar, why)  # fmt: skip


def _timed(change: TimeChange | None) -> Cell:
    """A cell that shows how much longer the case takes and, on hover, both times with their
    intervals."""
    if change is None:
        return none()
    title = f"{fmt.time_interval(change.base)} → {fmt.time_interval(change.new)}"
    if change.ratio is None:
        return none("not compared", title)
    plain = change.verdict in {"slower", "faster", "same", "unclear"}
    return Cell(words.time(change), change.ratio.value, title,
                mark=change.verdict if plain else "")  # fmt: skip


def _diffs(judgement: Judgement) -> Iterator[tuple[str, Difference]]:
    """The source diff of each variant that changed, once for all its cases."""
    seen: set[tuple[str, str]] = set()
    for change in judgement.changes:
        base, new = change.pair.base, change.pair.new
        if base is None or new is None or not change.source or len(seen) == MOST_DIFFS:
            continue
        p = new.planned
        if (p.problem, p.variant) not in seen:
            seen.add((p.problem, p.variant))
            yield f"{p.problem}/{p.variant}", difference(base, new)


def _counters(judgement: Judgement) -> Table:
    """Every counter that changed, for every case."""
    columns = [
        Column("case", numeric=False),
        Column("counter", numeric=False),
        Column("before"),
        Column("after"),
        Column("line", numeric=False),
        Column("the line's own", "before → after, of that line alone", numeric=False),
        Column("origin", "what it was counted in, and how far to trust it", numeric=False),
    ]
    table = Table("counters", "Counters that moved", columns, css="cards")
    for change in judgement.changes:
        for m in change.moved:
            q, place = m.gauge.quantity, m.place
            figures = place.figures if place else None
            own = ""
            if figures:
                was = show(q, figures[0]) if figures[0] is not None else "new"
                own = f"{was} → {show(q, figures[1])}"
            mark = "worse" if m.is_worse else "better"
            table.rows.append(
                Row([Cell(change.name, css="name"), Cell(q.words, mark=mark),
                     *(Cell(show(q, r.value), r.value) if r else none("none")
                       for r in (m.base, m.new)),
                     Cell(str(place), css="short") if place else none(),
                     Cell(own) if own else none(), Cell(m.provenance)])
            )  # fmt: skip
    return table


def _gauges() -> Table:
    """The table of counters that indicate a cost, which direction is worse, and why."""
    columns = [Column("counter", numeric=False), Column("worse", numeric=False),
               Column("closes a gate", "where it is exact, and times do not decide",
                      numeric=False), Column("because", numeric=False)]  # fmt: skip
    table = Table("gauges", "What is worse", columns, css="cards")
    for g in GAUGES:
        table.rows.append(
            Row([Cell(g.quantity.words, css="wrap"), Cell("more" if g.worse > 0 else "less"),
                 Cell(g.deciding, css="wrap"), Cell(g.why, css="wrap")])
        )  # fmt: skip
    return table
