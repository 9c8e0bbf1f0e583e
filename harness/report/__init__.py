"""A run's tables, figures and pages, drawn from its journal alone, without GPU or network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.tables import Run


def write(run: Run, single_file: bool = False) -> Path:
    """Write results.csv, counters.csv, budgets.csv, figures/*.png and the pages to the run's
    folder.

    Returns report.html's path; with `single_file`, the path of one file with all pages.
    """
    # The plotting code takes longer to import than most commands take to run, and few plot.
    from harness import tables
    from harness.report import site
    from harness.report.tables import budgets

    tables.write(run)
    budgets.write(run)
    return site.write_single(run) if single_file else site.write_pages(run)


def write_cards(folder: Path) -> Path:
    """Write report.html, results.csv, counters.csv and winners.csv in the folder above the runs, of
    which there is one per kind of card."""
    from harness.report import cards

    return cards.write(folder)
