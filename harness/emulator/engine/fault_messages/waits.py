"""Name the lines and mbarriers at which threads waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.emulator.engine import layout
from harness.emulator.engine.fault_messages.places import Place
from harness.emulator.results.waits import Completion, Wait

_COLUMNS = 11


def lines_of(place: Place) -> list[int]:
    """Map each instruction to the first one on the same line that has the same opcode."""
    first: dict[tuple[str, str], int] = {}
    sites = range(len(place.program.sites))
    return [first.setdefault((place.line(n, n), place.opcode(n)), n) for n in sites]


def waits_at_mbarriers(numbers: Sequence[int], place: Place) -> Iterator[Wait]:
    """Yield the waits in the judge's rows (`waits.h`). Consecutive rows with the same instruction,
    mbarrier and phases belong to one wait."""
    rows = [numbers[at : at + _COLUMNS] for at in range(0, len(numbers), _COLUMNS)]
    for (site, address, first, last), of_wait in groupby(rows, lambda row: (*row[:2], *row[3:5])):
        by = [
            Completion(place.line(row[2], site), place.opcode(row[2]),
                       *((row[at], row[at + 1]) for at in (5, 7, 9)))
            for row in of_wait if row[2] >= 0
        ]  # fmt: skip
        where = place.position(address, layout.SHARED_MEMORY, site)
        yield Wait(place.line(site, site), where, (first, last), tuple(by))
