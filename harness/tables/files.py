"""Read a run's folder into a Run, and write its tables as CSV."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.console import escaping
from harness.console.suggestions import command, did_you_mean
from harness.errors import JournalError
from harness.journal import run_files
from harness.journal.file import read_journal
from harness.tables import about
from harness.tables.packed import COUNTERS, JOURNAL, named
from harness.tables.run import Run

if TYPE_CHECKING:
    import pandas as pd


def load(folder: str | Path) -> Run:
    """Load the run in a folder. Raises JournalError with the location and the remedy."""
    folder = Path(folder)
    try:
        info = about.read(folder / "run.json")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        if (folder / "cards.json").is_file():
            raise JournalError(
                f"{folder} holds a run per kind of card, and this takes only one\n"
                f"  name it: {', '.join(str(path.parent) for path in _below(folder))}"
            ) from None
        raise JournalError(
            f"{folder / 'run.json'} cannot be read: {why}{_near(folder)}\n"
            f"  name a run's folder, such as reports/latest, or make one: {command('run', 'bench')}"
        ) from None
    return Run(folder, info, read_journal(named(folder, JOURNAL)))


def _below(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/run.json"))


def _near(folder: Path) -> str:
    """The runs with names similar to that of a missing folder, in the same parent folder."""
    try:
        there = [str(path.parent) for path in folder.parent.glob("*/run.json")]
        return did_you_mean(str(folder), there) if not folder.exists() else ""
    except OSError:  # for example, a name that is too long
        return ""


def write(run: Run) -> None:
    """Write results.csv and counters.csv next to the journal, with numbers to 10 digits.

    The counters of a packed run are compressed.
    """
    promised = run.results.drop(columns="above_ceiling")
    for table, name in ((promised, "results.csv"), (run.counters, COUNTERS)):
        stored = name if name != COUNTERS else named(run.folder, COUNTERS).name
        content = csv(table).encode()
        run_files.write(run.folder, stored, _gzip(content, stored) if stored != name else content)


def _gzip(content: bytes, name: str) -> bytes:
    """Compress a table, reproducibly byte for byte."""
    stored = io.BytesIO()
    with gzip.GzipFile(name, "wb", fileobj=stored, mtime=0) as file:
        file.write(content)
    return stored.getvalue()


def csv(table: pd.DataFrame) -> str:
    """Write a table as CSV, with numbers to 10 digits and without text that a spreadsheet would
    execute."""
    return str(inert_table(table).to_csv(index=False, float_format=number))


def inert_table(table: pd.DataFrame) -> pd.DataFrame:
    """Escape all text that a spreadsheet or a terminal would act on, in headings and cells."""
    from pandas.api.types import is_numeric_dtype

    safe = table.rename(columns=escaping.cell)
    for column in safe.columns:
        if not is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(escaping.cell)
    return safe


def number(value: Any) -> str:
    """Format a number as an integer, or to 10 digits."""
    return str(int(value)) if value == int(value) else f"{value:.10g}"
