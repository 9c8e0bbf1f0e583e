"""Causes named from emulated counters are those that Nsight Compute's readings name, on an H200.

The table is committed, and made anew by `make benchmark-causes`.
"""

from __future__ import annotations

import csv
from pathlib import Path

TABLE = Path(__file__).parents[1] / "reports" / "h200" / "emulated_causes.csv"
NOT = "not counted"


def test_of_95_steps_in_100_that_could_be_counted_the_first_cause_is_the_same() -> None:
    with TABLE.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["counted_at"].startswith(NOT)]
    same = [row for row in rows if row["first"] == "yes"]
    assert len(rows) > 10
    assert len(same) >= 0.95 * len(rows)
