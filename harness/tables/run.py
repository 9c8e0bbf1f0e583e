"""The results of one run, as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.tables import notebook
from harness.tables.run_tables import RunTables

if TYPE_CHECKING:
    import pandas as pd


class Run(RunTables):
    """The results of one run: its records, its tables, and its views in a notebook."""

    def ladder(
        self, problem: str, dtype: str | None = None, cache: str = "cold", **sizes: int
    ) -> pd.DataFrame:
        """One row per variant at the launch shape at which it is shown, the fastest first.

        The table is for the largest size and the first type, unless `sizes` or `dtype` names
        another. The columns are those of `results`, plus the speed-up over the variant that each
        builds on.
        """
        return notebook.ladder(self, problem, dtype, cache, sizes)

    def __repr__(self) -> str:
        return notebook.text(self)

    def _repr_html_(self) -> str:
        return notebook.html(self)
