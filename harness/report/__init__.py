"""A run's tables, figures and pages, drawn from its journal alone: no GPU, no network."""

from __future__ import annotations

from pathlib import Path

from harness.report.site import write_pages, write_single
from harness.report.tables import budgets
from harness.tables import Run
from harness.tables import write as write_tables


def write(run: Run, single_file: bool = False) -> Path:
    """results.csv, counters.csv, budgets.csv, figures/*.png and the pages in the run's folder.

    Returns report.html's path; with `single_file` that of one file which holds all pages.
    """
    write_tables(run)
    budgets.write(run)
    return write_single(run) if single_file else write_pages(run)
