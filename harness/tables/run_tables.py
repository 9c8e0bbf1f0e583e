"""A run's records as pandas tables.

pandas takes half a second to import, so it is imported only when a table is requested.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from harness.journal.records import Planned
from harness.tables import roofs
from harness.tables.run_records import RunRecords

if TYPE_CHECKING:
    import pandas as pd


class RunTables(RunRecords):
    """The records of one run, and each of their tables under its name."""

    def roof(self, p: Planned) -> roofs.Roof | None:
        """The lowest applicable limit of a case's work; None if none was measured."""
        return roofs.roof_of(self, p)

    @cached_property
    def results(self) -> pd.DataFrame:
        """One row per case and cache state; a value that does not exist is missing, never 0."""
        from harness.tables import results

        return results.table(self)

    @cached_property
    def counters(self) -> pd.DataFrame:
        """One row per case, step and metric, in that order; a row without a value has a reason."""
        from harness.tables import frames

        return frames.counters(self)

    @cached_property
    def durations(self) -> pd.DataFrame:
        """A case's time by events (cold) and ncu's duration of all its steps, in ns.

        disagrees: they differ by over 10 % although the launch takes over 50 µs. ncu launches one
        kernel at a time, so the clocks stay low; for short launches, a difference means nothing.
        """
        from harness.tables import frames

        return frames.durations(self)

    @cached_property
    def verified(self) -> pd.DataFrame:
        """One row per verified launch."""
        from harness.tables import frames

        return frames.verified(self)

    @cached_property
    def conditions(self) -> pd.DataFrame:
        """The GPU's clocks, temperature, power and throttling, one row per round."""
        from harness.tables import frames

        return frames.conditions(self)
