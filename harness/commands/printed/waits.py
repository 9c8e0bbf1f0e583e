"""How a pipeline's threads wait at mbarriers, stage by stage: the order, without times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.table import Table

from harness.emulator import Completion, Wait

_EXPLAINED = (
    "In program order, counted in PTX. Phases are counted from 0 in each block; -1 is the one "
    "before the first, for which nobody has to wait. Bytes and arrivals are those of one phase."
)


def table(kernel: str, waits: Sequence[Wait]) -> Table:
    """One row per waiting source line; adjacent mbarriers with equal columns share a row."""
    shown = Table(
        title=f"{kernel}: what it waits for at mbarriers", title_justify="left",
        caption=_EXPLAINED, caption_justify="left", box=None, pad_edge=False,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    for name in ("line", "mbarrier", "phases", "in flight", "completed by"):
        shown.add_column(name, overflow="fold")
    for _, alike in groupby(waits, lambda wait: (wait.place, wait.phases, wait.by)):
        some = list(alike)
        wait = some[0]
        by = list(completions(wait.by)) or ["–"]
        shown.add_row(wait.place, mbarriers(some), _range(wait.phases), in_flight(wait), by[0])
        for each in by[1:]:
            shown.add_row("", "", "", "", each)
    return shown


def mbarriers(waits: Sequence[Wait]) -> str:
    """The position of one mbarrier, or the range of several adjacent ones."""
    first, last = (
        each.mbarrier.removesuffix(" in shared memory") for each in (waits[0], waits[-1])
    )
    return first if len(waits) == 1 else f"{len(waits)}: {first} to {last}"


def in_flight(wait: Wait) -> str:
    """The bytes for which a phase waited; empty if it waited only for threads."""
    least, most = (sum(each.bytes[end] for each in wait.by) for end in (0, 1))
    return f"{_range((least, most))} bytes" if most else ""


def completions(by: Iterable[Completion]) -> Iterator[str]:
    for each in by:
        words = [
            f"{_range(count)} {what[:-1] if count == (1, 1) else what}{more}"
            for count, what, more in (
                (each.arrivals, "arrivals", ""), (each.announced, "bytes", " announced"),
                (each.bytes, "bytes", ""),
            )
            if count[1]
        ]  # fmt: skip
        yield f"{each.place}: {each.opcode.partition('.shared')[0]}, {', '.join(words)}"


def _range(extremes: tuple[int, int]) -> str:
    least, most = extremes
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"
