"""A table of results, for a terminal or a Markdown file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from harness.console import escaping

STYLES = {"faster": "green", "slower": "red", "failed": "bold red", "best": "bold"}


@dataclass(frozen=True)
class Cell:
    """`kind`: a verdict, or another key of STYLES. `brief`: the text shown on a narrow terminal."""

    text: str
    kind: str = ""
    brief: str = ""


@dataclass(frozen=True)
class Sheet:
    """One table. `texts`: how many of the first columns hold text, which is aligned left.

    `spare`: the columns that a narrow terminal leaves out, in the order in which they are dropped.
    """

    title: str
    columns: list[str]
    texts: int = 1
    spare: tuple[str, ...] = ()
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences beneath the table."""


GAP = 2
"""The number of spaces between two columns."""


def rich(sheet: Sheet, width: int) -> Table:
    """A table for a terminal; if too narrow, it has short names and no spare columns."""
    keep = list(range(len(sheet.columns)))
    texts = [[cell.text for cell in row] for row in sheet.rows]
    if _width(sheet, texts, keep) > width:
        texts = [[cell.brief or cell.text for cell in row] for row in sheet.rows]
    for name in sheet.spare:
        if _width(sheet, texts, keep) > width:
            keep.remove(sheet.columns.index(name))
    table = Table(title=sheet.title or None, title_justify="left", title_style="bold", box=None,
                  pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")  # fmt: skip
    for i in keep:
        table.add_column(sheet.columns[i], justify="left" if i < sheet.texts else "right",
                         no_wrap=i > 0, overflow="fold")  # fmt: skip
    for row, shown in zip(sheet.rows, texts, strict=True):
        table.add_row(*(Text(shown[i], STYLES.get(row[i].kind, "")) for i in keep))
    return table


def _width(sheet: Sheet, texts: Sequence[Sequence[str]], keep: Sequence[int]) -> int:
    """The width of the table with nothing wrapped or cut."""
    widest = [max(cell_len(text) for text in [sheet.columns[i], *(row[i] for row in texts)])
              for i in keep]  # fmt: skip
    return sum(widest) + GAP * (len(keep) - 1)


def markdown(found: Sequence[Sheet]) -> str:
    """Format every sheet as a GitHub table."""
    parts = []
    for sheet in found:
        rule = ["---" if i < sheet.texts else "---:" for i in range(len(sheet.columns))]
        rows = [
            list(map(escaping.markdown, sheet.columns)),
            rule,
            *([escaping.markdown(c.text) for c in row] for row in sheet.rows),
        ]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        title = [f"**{escaping.markdown(sheet.title)}**", ""] if sheet.title else []
        notes = [f"- {escaping.markdown(note)}" for note in sheet.notes]
        parts.append("\n".join([*title, *lines, *(["", *notes] if notes else [])]))
    return "\n\n".join(parts) + "\n"
