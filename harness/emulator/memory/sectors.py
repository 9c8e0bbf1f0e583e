"""Which 32-byte sectors of a buffer a launch touches: what memory must move of it at the least.

A map has a byte for each sector, 0 or 1. Offsets are bytes from the start of the buffer. An access
of one lane is naturally aligned and no wider than a sector, so it lies in one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.silicon.memory_rules import SECTOR_BYTES

Array = NDArray[Any]
SectorMap = NDArray[np.uint8]

_SHIFT = SECTOR_BYTES.bit_length() - 1


def untouched(size: int) -> SectorMap:
    """The map of a buffer of so many bytes; pages of it that nothing touches cost no memory."""
    return np.zeros(-(-size // SECTOR_BYTES), np.uint8)


def touch(sectors: SectorMap, offsets: Array) -> None:
    """Mark the sector of each offset."""
    first, last = int(offsets.min()) >> _SHIFT, int(offsets.max()) >> _SHIFT
    if not sectors[first : last + 1].view(np.bool_).all():
        sectors[offsets >> _SHIFT] = 1


def touch_runs(sectors: SectorMap, starts: Array, size: int, step: int | None) -> None:
    """Mark the sectors of runs of `size` bytes; `starts` has shape (runs, 1).

    step: from each start to the next, None where they differ.
    """
    if step is not None and 0 <= step <= size:  # together one run
        end = int(starts[-1, 0]) + size
        sectors[int(starts[0, 0]) >> _SHIFT : (end - 1 >> _SHIFT) + 1] = 1
        return
    first, last = starts >> _SHIFT, starts + (size - 1) >> _SHIFT
    most = int((last - first).max()) + 1
    sectors[np.minimum(first + np.arange(most), last)] = 1
