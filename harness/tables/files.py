"""A run's folder: read into a Run, and its tables written as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pandas.api.types import is_numeric_dtype

from harness.errors import JournalError
from harness.near import did_you_mean
from harness.records import read_journal
from harness.tables.packed import COUNTERS, ENDING, JOURNAL, named
from harness.tables.run import Run


def load(folder: str | Path) -> Run:
    """The run in a folder. Raises JournalError with the place and the remedy."""
    folder = Path(folder)
    try:
        info = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise JournalError(
            f"{folder / 'run.json'} cannot be read: {why}{_near(folder)}\n"
            "  name a run's folder, such as reports/latest, or make one: make bench"
        ) from None
    return Run(folder, info, read_journal(named(folder, JOURNAL)))


def _near(folder: Path) -> str:
    """The runs beside a folder that is not there, as far as their names are like its own."""
    there = [str(path.parent) for path in folder.parent.glob("*/run.json")]
    return did_you_mean(str(folder), there) if not folder.exists() else ""


def write(run: Run) -> None:
    """results.csv and counters.csv beside the journal; numbers to 10 digits.

    The counters of a packed run are compressed.
    """
    promised = run.results.drop(columns="above_ceiling")
    for table, name in ((promised, "results.csv"), (run.counters, COUNTERS)):
        inert_ = table.copy()
        for column in inert_.columns:
            if not is_numeric_dtype(inert_[column]):
                inert_[column] = inert_[column].map(inert)
        path = run.folder / name if name != COUNTERS else named(run.folder, COUNTERS)
        how = {"method": "gzip", "mtime": 0} if path.suffix == ENDING else None
        inert_.to_csv(path, index=False, float_format=_number, compression=how)


def inert(cell: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with an apostrophe that makes it text."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return cell


def _number(value: Any) -> str:
    return str(int(value)) if value == int(value) else f"{value:.10g}"
