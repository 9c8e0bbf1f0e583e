"""A kernel's source with the cost of each line: the emulator's answer to "where is time lost?".

Counts are of machine instructions, or of PTX if the machine code was not executed, by the lines to
which nvcc's `-lineinfo` attributes them. A line in a shared header shows this case's counts only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from harness.analysis.lines import machine_lines
from harness.files.source_text import C_SUFFIXES
from harness.journal import run_files
from harness.journal.counter_records import MachineInstruction, SourceLine
from harness.silicon.architectures import WARP_SIZE

_LARGEST = 1 << 24
"""The largest source that is shown, in bytes."""
_WORST_SHARE = 0.1
"""A line with less than this share of a kernel's instructions is not marked for idle lanes. A
branch at which less than this share of the warps diverged is not marked for divergence."""

COLUMNS = (
    ("warp instructions", "Instructions that warps executed for this line."),
    ("lanes", "Lanes at work in such an instruction, of 32, on average."),
    ("diverged", "Warps whose lanes went different ways at a branch of this line, of those that "
                 "came to it."),
    ("sectors per load", "32-byte sectors of global memory that a warp's load touches: 4 where 32 "
                         "neighbouring floats are read one each, 32 where they lie scattered."),
    ("sectors per store", "The same of a warp's store."),
    ("sectors per atomic", "The same of a warp's atomic in global memory."),
    ("wavefronts", "Passes through shared memory."),
    ("ideal", "The passes that would be needed without bank conflicts."),
    ("lanes per address", "Lanes of one warp whose atomics meet on an address, on average."),
)  # fmt: skip
"""The columns before the source: name and meaning. Columns that no line has are left out."""


@dataclass(frozen=True)
class AnnotatedLine:
    """One source line; `cost` is None if no instruction belongs to it."""

    number: int
    text: str
    cost: SourceLine | None
    marks: tuple[str, ...]


def annotated(source: str, costs: Mapping[int, SourceLine]) -> list[AnnotatedLine]:
    """The lines of a file from the first with a cost to the last, with the costly ones marked."""
    total = sum(cost.warps for cost in costs.values())
    return [
        AnnotatedLine(n, text, costs.get(n), _marks(costs[n], total) if n in costs else ())
        for n, text in enumerate(source.splitlines(), 1)
        if min(costs) <= n <= max(costs)
    ]


def _marks(cost: SourceLine, total: int) -> tuple[str, ...]:
    """The line's non-zero marks: idle lanes, divergence, scattered accesses and conflicts."""
    marks = []
    lanes = cost.threads / cost.warps if cost.warps else WARP_SIZE
    if lanes < WARP_SIZE / 2 and cost.warps >= _WORST_SHARE * total:
        marks.append(f"{lanes:.1f} of 32 lanes")
    if cost.diverged and cost.diverged >= _WORST_SHARE * cost.branches:
        marks.append(f"diverged {cost.diverged:,} of {cost.branches:,} warps")
    if cost.wavefronts > 1.05 * cost.wavefronts_ideal > 0:
        marks.append(f"{cost.wavefronts / cost.wavefronts_ideal:.1f}× the ideal wavefronts")
    # A full 16-byte access of a warp is 16 sectors; more means that lanes are not contiguous.
    for kind, requests, sectors in (
        ("load", cost.requests, cost.sectors),
        ("store", cost.store_requests, cost.store_sectors),
        ("atomic", cost.atomic_requests, cost.atomic_sectors),
    ):
        if requests and sectors > 17 * requests:
            marks.append(f"{sectors / requests:.1f} sectors per {kind}")
    if cost.atomic_lanes > 2 * cost.atomic_addresses > 0:
        each = cost.atomic_lanes / cost.atomic_addresses
        marks.append(f"{each:.1f} lanes per address, at most {cost.atomic_most_lanes}")
    return tuple(marks)


def by_file(lines: Iterable[SourceLine], step: int) -> dict[str, dict[int, SourceLine]]:
    """Map file → line → cost for one step, the file with the most instructions first."""
    files: dict[str, dict[int, SourceLine]] = {}
    for line in lines:
        if line.step == step:
            files.setdefault(line.file, {})[line.line] = line
    return dict(
        sorted(files.items(), key=lambda item: -sum(cost.warps for cost in item[1].values()))
    )


NARROW = 120
"""The width of a terminal below which figures are shortened, so that at 80 columns there is room
for the source."""


def table(
    title: str,
    lines: Iterable[AnnotatedLine],
    width: int = NARROW,
    machine: Mapping[int, Sequence[MachineInstruction]] | None = None,
) -> Table:
    """The lines for a terminal of this width, each followed by its machine instructions."""
    rows = list(lines)
    is_wide = width >= NARROW
    shown_as, headings = (cells, _SHORT) if is_wide else (_short_cells, _SHORT | _SHORTER)
    columns = used(rows)
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("line", *(COLUMNS[i][0] for i in columns)):
        shown.add_column(headings.get(name, name), justify="right", no_wrap=True)
    shown.add_column("source", overflow="fold")
    headed = False
    for line in rows:
        own = shown_as(line.cost)
        shown.add_row(str(line.number), *(own[i] for i in columns), _source(line))
        own_code = (machine or {}).get(line.number, ())
        if own_code and not headed:
            shown.add_row("", *("" for _ in columns), Text(machine_lines.HEADING, style="dim bold"))
            headed = True
        for each in own_code:
            text = Text(machine_lines.text(each), style="dim")
            shown.add_row("", *("" for _ in columns), text)
    return shown


_SHORT = {
    "warp instructions": "warp\ninstr", "sectors per load": "sect/\nload",
    "sectors per store": "sect/\nstore", "sectors per atomic": "sect/\natomic",
    "lanes per address": "lanes/\naddr", "wavefronts": "wave-\nfronts",
}  # fmt: skip
"""Headings that leave room for the source."""

_SHORTER = {"diverged": "di-\nverged"}
"""Column titles that are split into two lines at 80 columns, because their figures are short."""


def used(lines: Sequence[AnnotatedLine]) -> list[int]:
    """The indices of the columns that are not empty."""
    rows = [cells(line.cost) for line in lines]
    return [i for i in range(len(COLUMNS)) if any(row[i] for row in rows)]


def cells(cost: SourceLine | None) -> tuple[str, ...]:
    """The cells before the source, one text for each of COLUMNS; a text is empty if there is
    nothing to show."""
    if cost is None:
        return ("",) * len(COLUMNS)
    diverged = f"{cost.diverged:,} of {cost.branches:,}" if cost.diverged else ""
    wavefronts, ideal = (
        f"{count:,}" if count else "" for count in (cost.wavefronts, cost.wavefronts_ideal)
    )
    return (
        f"{cost.warps:,}",
        _quotient(cost.threads, cost.warps),
        diverged or ("0" if cost.branches else ""),
        _quotient(cost.sectors, cost.requests),
        _quotient(cost.store_sectors, cost.store_requests),
        _quotient(cost.atomic_sectors, cost.atomic_requests),
        wavefronts,
        ideal,
        _quotient(cost.atomic_lanes, cost.atomic_addresses),
    )


def _short_cells(cost: SourceLine | None) -> tuple[str, ...]:
    """Shorten the cells to two or three digits: `98k`, and `18 %` of the warps diverged."""
    if cost is None:
        return cells(cost)
    found = list(cells(cost))
    found[0] = _short(cost.warps)
    if cost.diverged:
        found[2] = f"{100 * cost.diverged / cost.branches:.0f} %"
    found[6], found[7] = (
        _short(count) if count else "" for count in (cost.wavefronts, cost.wavefronts_ideal)
    )
    return tuple(found)


def _short(count: int) -> str:
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= factor:
            return f"{count / factor:.{1 if count < 10 * factor else 0}f}{unit}"
    return str(count)


def _quotient(over: int, under: int) -> str:
    return f"{over / under:.1f}" if under else ""


def _source(line: AnnotatedLine) -> Text:
    text = Text(line.text, style="" if line.cost else "dim")
    if line.marks:
        text.append(f"   ← {', '.join(line.marks)}", style="bold red")
    return text


def read(file: str) -> str:
    """The text of a C++ file; empty if it no longer exists. Invalid UTF-8 is replaced.

    A `#line` directive can name any file, so others are not opened.
    """
    path = Path(file)
    if path.suffix not in C_SUFFIXES:
        return ""
    try:
        return run_files.read_named(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""
