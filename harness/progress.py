"""What a person sees while a run goes on: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Advance = Callable[[str], None]

# `x.cu:100:` is a place in a file and no emoji, and `a[0]` no markup.
console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
if not console.is_terminal:
    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False, width=200)


@contextmanager
def stage(title: str, total: int) -> Iterator[Advance]:
    """A stage of `total` steps; call what it yields after each, with what was done."""
    if not console.is_terminal:
        yield _lines(title, total)
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


def _lines(title: str, total: int) -> Advance:
    done, start = 0, monotonic()

    def advance(what: str) -> None:
        nonlocal done
        done += 1
        console.print(
            f"{title} {done}/{total}  {what}  ({monotonic() - start:.1f} s)", markup=False
        )

    return advance
