"""The page above a run on several kinds of card: which variant is fastest on which card, and where
this changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.cases import how_many
from harness.journal import run_files
from harness.report import format as fmt
from harness.report import site
from harness.report.tables.cells import Cell, Column, Row, Table, none
from harness.tables import cards


@dataclass(frozen=True)
class Page:
    title: str
    winners: Table
    reports: list[tuple[str, str]]
    """Card → the address of its report."""


def write(folder: Path) -> Path:
    """Write report.html and the tables of all cards; each card's own report is written
    separately."""
    runs = cards.load_all(folder)
    winners = cards.write(folder, runs)
    links = [(card, f"{run.folder.name}/report.html") for card, run in runs.items()]
    page = Page(_title(winners, list(runs)), _table(winners, list(runs)), links)
    first = next(iter(runs.values()))
    run_files.write(folder, "report.html", site.alone("cards.html.j2", first, page=page))
    return folder / "report.html"


def _title(winners: pd.DataFrame, names: list[str]) -> str:
    changed = winners.loc[~winners["same_everywhere"], "comparison"].nunique()
    total = winners["comparison"].nunique()
    where = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    of = how_many(total, "comparison")
    return f"The winner depends on the card in {changed} of {of}: {where}"


def _table(winners: pd.DataFrame, names: list[str]) -> Table:
    """One row per comparison, one column per card."""
    columns = [Column("comparison", numeric=False)]
    columns += [Column(name, "the fastest variant, and its time", numeric=False) for name in names]
    columns.append(Column("the winner", "whether one variant is fastest on all", numeric=False))
    table = Table("winners", "Which variant is fastest on which card", columns, css="cards")
    for comparison, rows in winners.groupby("comparison", sort=False):
        by_card = {row.card: row for row in rows.itertuples()}
        is_same = bool(rows["same_everywhere"].iloc[0])
        cells = [_cell(by_card.get(name)) for name in names]
        said = Cell("the same") if is_same else Cell("changes", mark="worse")
        table.rows.append(Row([Cell(str(comparison), css="name"), *cells, said]))
    return table


def _cell(row: object) -> Cell:
    winner = getattr(row, "winner", None)
    if not winner:
        return none("not timed")
    tied = str(getattr(row, "tied", "")).split()
    beside = [each for each in tied if each != winner]
    more = f"; not shown to be slower: {', '.join(beside)}" if beside else ""
    ns = float(getattr(row, "time_ns", 0.0))
    return Cell(f"{winner}, {fmt.time(ns)}", ns, f"cold L2 cache{more}")
