"""The user's view of a sweep: its progress, and what each worker is doing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from harness.console.progress import Advance, console, draws_bars, lines


class View(Protocol):
    def doing(self, member: str, what: str) -> None:
        """Show what a worker has begun to do; if `what` is empty, show that it is waiting."""

    def done(self, what: str) -> None: ...


@contextmanager
def viewed(title: str, total: int) -> Iterator[View]:
    if not draws_bars():
        yield _Lines(lines(title, total))
        return
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(bar_width=20),
        MofNCompleteColumn(), Elapsed(), TextColumn("{task.fields[what]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        yield _Bars(progress, title, total)


class _Lines:
    def __init__(self, advance: Advance) -> None:
        self.done = advance

    def doing(self, member: str, what: str) -> None:
        """Print nothing: a line with the worker's name follows when the item is done."""


class _Bars:
    """A progress bar for the sweep, and below it a line per worker with the items that it has
    done."""

    def __init__(self, progress: Progress, title: str, total: int) -> None:
        self._progress = progress
        self._all = progress.add_task(title, total=total, what="")
        self._of: dict[str, TaskID] = {}

    def doing(self, member: str, what: str) -> None:
        if member not in self._of:
            self._of[member] = self._progress.add_task(f"  {member}", total=None, what="")
        self._progress.update(self._of[member], what=what or "waits", advance=0 if what else 1)

    def done(self, what: str) -> None:
        self._progress.update(self._all, advance=1, what=what)
