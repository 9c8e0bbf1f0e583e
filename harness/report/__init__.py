"""A run's tables, figures and page, drawn from its journal alone: no GPU, no network."""

from __future__ import annotations

from pathlib import Path

from harness import tables
from harness.report.page import write_page


def write(run: tables.Run) -> Path:
    """results.csv, counters.csv, figures/*.png and report.html in the run's folder.

    Returns report.html's path. The page is one file that refers to nothing outside it but the PNGs
    beside it, by link.
    """
    tables.write(run)
    return write_page(run)
