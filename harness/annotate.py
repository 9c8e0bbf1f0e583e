"""A kernel's source with what each line cost: the emulator's answer to "where is it lost?".

Counts are of PTX instructions, by the lines that nvcc's `-lineinfo` attributes them to. A line in a
header that several kernels include has the counts of this case only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from harness.records import SourceLine

WARP = 32
_WORST_SHARE = 0.1
"""Lines with less than this share of a kernel's instructions are not marked for idle lanes."""


@dataclass(frozen=True)
class AnnotatedLine:
    """One line of source; `cost` is None where no instruction belongs to it."""

    number: int
    text: str
    cost: SourceLine | None
    marks: tuple[str, ...]


def annotated(source: str, costs: Mapping[int, SourceLine]) -> list[AnnotatedLine]:
    """The lines of a file from the first that costs something to the last, with what stands out."""
    total = sum(cost.warps for cost in costs.values())
    return [
        AnnotatedLine(n, text, costs.get(n), _marks(costs[n], total) if n in costs else ())
        for n, text in enumerate(source.splitlines(), 1)
        if min(costs) <= n <= max(costs)
    ]


def _marks(cost: SourceLine, total: int) -> tuple[str, ...]:
    """Idle lanes, scattered loads and stores, bank conflicts: only what costs something."""
    marks = []
    lanes = cost.threads / cost.warps if cost.warps else WARP
    if lanes < WARP / 2 and cost.warps >= _WORST_SHARE * total:
        marks.append(f"{lanes:.1f} of 32 lanes")
    if cost.wavefronts > 1.05 * cost.wavefronts_ideal > 0:
        marks.append(f"{cost.wavefronts / cost.wavefronts_ideal:.1f}× the ideal wavefronts")
    # A full 16-byte access of a warp is 16 sectors; more means that lanes do not adjoin.
    if cost.requests and cost.sectors > 17 * cost.requests:
        marks.append(f"{cost.sectors / cost.requests:.1f} sectors a request")
    return tuple(marks)


def by_file(lines: Iterable[SourceLine], step: int) -> dict[str, dict[int, SourceLine]]:
    """File → line → cost, of one step; the file with the most instructions first."""
    files: dict[str, dict[int, SourceLine]] = {}
    for line in lines:
        if line.step == step:
            files.setdefault(line.file, {})[line.line] = line
    return dict(
        sorted(files.items(), key=lambda item: -sum(cost.warps for cost in item[1].values()))
    )


def table(title: str, lines: Iterable[AnnotatedLine]) -> Table:
    """The lines for a terminal."""
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("line", "warp inst", "lanes", "sectors/req", "wavefronts", "ideal"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("source", overflow="fold")
    for line in lines:
        shown.add_row(str(line.number), *cells(line.cost), _source(line))
    return shown


def cells(cost: SourceLine | None) -> tuple[str, ...]:
    """What stands before the source: instructions, lanes, sectors, wavefronts and their ideal."""
    if cost is None:
        return ("",) * 5
    lanes = f"{cost.threads / cost.warps:.1f}" if cost.warps else ""
    sectors = f"{cost.sectors / cost.requests:.1f}" if cost.requests else ""
    wavefronts, ideal = (
        f"{count:,}" if count else "" for count in (cost.wavefronts, cost.wavefronts_ideal)
    )
    return f"{cost.warps:,}", lanes, sectors, wavefronts, ideal


def _source(line: AnnotatedLine) -> Text:
    text = Text(line.text, style="" if line.cost else "dim")
    if line.marks:
        text.append(f"   ← {', '.join(line.marks)}", style="bold red")
    return text


def read(file: str) -> str:
    """The file's text; empty where it is not there any more."""
    try:
        return Path(file).read_text()
    except OSError:
        return ""
