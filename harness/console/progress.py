"""Progress during a run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text

from harness.console import escaping

Advance = Callable[[str], None]


class _Inert(Console):
    """A console that escapes the control sequences in printed text, so that only its own affect
    the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_inert(segment.text))

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(_inert(text), **how)


def _inert(text: str) -> str:
    """Escape printed text; in a GitHub job, also what would be a command to its runner."""
    is_job = os.environ.get("GITHUB_ACTIONS") == "true"
    return escaping.no_workflow_command(escaping.text(text)) if is_job else escaping.text(text)


# `x.cu:100:` is a place in a file, not an emoji, and `a[0]` is not markup.
WIDTH = "HARNESS_WIDTH"
"""The environment variable with the terminal's width, for output that reaches the terminal through
a pipe."""

console: Console = _Inert(highlight=False, soft_wrap=True, emoji=False, markup=False)
if not console.is_terminal:
    console = _Inert(highlight=False, soft_wrap=True, emoji=False, markup=False,
                     width=int(os.environ.get(WIDTH) or 200))  # fmt: skip


_in_lines = False


@contextmanager
def in_lines() -> Iterator[None]:
    """Make stages report in plain lines, for runs in which several stages are active at a time."""
    global _in_lines  # noqa: PLW0603
    _in_lines = True
    try:
        yield
    finally:
        _in_lines = False


def draws_bars() -> bool:
    return console.is_terminal and not _in_lines


@contextmanager
def stage(title: str, total: int) -> Iterator[Advance]:
    """Yield a function to call after each of `total` steps, with a description of the step."""
    if not draws_bars():
        yield lines(title, total)
        return
    columns = (
        TextColumn("{task.description:9}", markup=False), BarColumn(bar_width=30),
        MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[what]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(title, total=total, what="")
        yield lambda what: progress.update(task, advance=1, what=what)
        progress.update(task, what="")


def lines(title: str, total: int) -> Advance:
    """Report a stage in plain lines, one per step."""
    done, start = 0, monotonic()

    def advance(what: str) -> None:
        nonlocal done
        done += 1
        console.print(
            f"{title} {done}/{total}  {what}  ({monotonic() - start:.1f} s)", markup=False
        )

    return advance
