"""`python -m harness.tables FOLDER`: a run's results and counters as text."""

from __future__ import annotations

import sys

from harness.cases import how_many
from harness.errors import JournalError
from harness.tables import load


def main(folder: str = "reports/latest") -> None:
    """Print a run's results and counters."""
    run = load(folder)
    for title, table in (("results", run.results), ("counters", run.counters)):
        print(f"{title}: {how_many(len(table), 'row')}")
        print(table.dropna(axis="columns", how="all").to_string(index=False))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except JournalError as error:
        sys.exit(f"error: {error}")
