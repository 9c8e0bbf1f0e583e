"""A kernel as one list of operations and jumps to labels, before it is cut into basic blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.emulator.program import Op


@dataclass(frozen=True)
class Mark:
    """A place that control may go to."""

    label: str


@dataclass(frozen=True)
class To:
    """A terminator whose targets are labels still; block numbers are put in later."""

    terminator: Any
    labels: tuple[str, ...] = ()
    guarded: int | None = None


Entry = Mark | To | tuple[Op, int | None]
