"""A run's folder: read into a Run, and its tables written as CSV."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

from pandas.api.types import is_numeric_dtype

from harness.errors import JournalError
from harness.near import did_you_mean
from harness.records import read_journal
from harness.tables import about
from harness.tables.run import Run


def load(folder: str | Path) -> Run:
    """The run in a folder. Raises JournalError with the place and the remedy."""
    folder = Path(folder)
    try:
        info = about.read(folder / "run.json")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise JournalError(
            f"{folder / 'run.json'} cannot be read: {why}{_near(folder)}\n"
            "  name a run's folder, such as reports/latest, or make one: make bench"
        ) from None
    return Run(folder, info, read_journal(folder / "journal.jsonl"))


def _near(folder: Path) -> str:
    """The runs beside a folder that is not there, as far as their names are like its own."""
    there = [str(path.parent) for path in folder.parent.glob("*/run.json")]
    return did_you_mean(str(folder), there) if not folder.exists() else ""


def write(run: Run) -> None:
    """results.csv and counters.csv beside the journal; numbers to 10 digits."""
    promised = run.results.drop(columns="above_ceiling")
    for table, name in ((promised, "results.csv"), (run.counters, "counters.csv")):
        safe = table.rename(columns=inert)
        for column in safe.columns:
            if not is_numeric_dtype(safe[column]):
                safe[column] = safe[column].map(inert)
        safe.to_csv(run.folder / name, index=False, float_format=_number)


_FORMULA = ("=", "+", "-", "@")
"""What a formula begins with, behind spaces and in full width too."""


def inert(cell: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with an apostrophe that makes it text.

    A carriage return, which would end a row where it is not quoted, becomes a space.
    """
    if not isinstance(cell, str):
        return cell
    cell = cell.replace("\r", " ")
    is_formula = unicodedata.normalize("NFKC", cell).lstrip()[:1] in _FORMULA
    return f"'{cell}" if is_formula else cell


def _number(value: Any) -> str:
    return str(int(value)) if value == int(value) else f"{value:.10g}"
