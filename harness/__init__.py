"""Compare CUDA kernel variants: which is faster, by how much, and why.

In a notebook: `run = harness.load("reports/latest")`, then `run.results`, `run.counters`, …;
or `harness.check(kernel, problem)`, which needs no run (docs/judge.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.judge.api import candidate, check, compare, time
    from harness.tables import Run

__version__ = "0.1.0"


def load(folder: str | Path, card: str | None = None) -> Run:
    """Load a run's folder as pandas tables. Raises JournalError, which says where and what to do.

    `card`: which card's results to load, if the run has several kinds of card.
    """
    from harness import tables
    from harness.tables import cards

    return tables.load(folder) if card is None else cards.load_one(Path(folder), card)


_JUDGING = ("candidate", "check", "compare", "time")


def __getattr__(name: str) -> Any:
    """Look up judging functions of harness/judge/api.py, which is imported on first use."""
    if name not in _JUDGING:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    from harness.judge import api

    return getattr(api, name)


__all__ = ["__version__", "candidate", "check", "compare", "load", "time"]
