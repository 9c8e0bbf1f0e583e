"""A log by which an old access can still be named, and what may meet unordered.

A check keeps, for each word, a stamp of its last accesses: one integer that holds a number from
the log, the kind of access and the thread. Numbers ascend, so that what came before a barrier is
what has a number below the barrier's.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.access_kinds import ATOMIC, BLOCK_ATOMIC, PLAIN

Array = NDArray[Any]


KIND_SHIFT = 28
EVENT_SHIFT = 30
SILENT = 1 << KIND_SHIFT - 1  # a write that changed nothing, and before which nothing changed
LANE_MASK = SILENT - 1
KIND_MASK = 3 << KIND_SHIFT


class Log:
    """Numbers the accesses and fences of a launch as they happen."""

    def __init__(self) -> None:
        self._sites = array("i", [0])  # so that no access has the number 0
        self._chunks: list[int] = []
        self._first_blocks: list[int] = []

    @property
    def now(self) -> int:
        """The number that the next access gets."""
        return len(self._sites)

    def add(self, site: int) -> int:
        self._sites.append(site)
        return len(self._sites) - 1

    def site(self, event: int) -> int:
        return self._sites[event]

    def begin_chunk(self, first_block: int) -> None:
        self._chunks.append(self.now)
        self._first_blocks.append(first_block)

    def first_block(self, event: int) -> int:
        """The first block of the chunk that an event belongs to."""
        return self._first_blocks[bisect_right(self._chunks, event) - 1]


def tolerated(
    stamps: Array, now: int, same_warp: Array, same_block: Array | bool = True
) -> Array:  # fmt: skip
    """Whether accesses with these stamps and one of kind `now` may meet unordered.

    Atomics may meet atomics and volatile accesses: locks and flags. Two volatile accesses may meet
    if they belong to different warps, as where one warp waits for another's flag; within a warp
    they are what programs wrote when lanes still ran in lockstep, and are a race. What is atomic
    for a block alone is to other blocks a plain access.
    """
    before, kind = _for_whom((stamps & KIND_MASK) >> KIND_SHIFT, same_block), np.int64(now)
    kind = _for_whom(kind, same_block)
    either = (before == ATOMIC) | (kind == ATOMIC)
    return (before != PLAIN) & (kind != PLAIN) & (either | ~same_warp)


def of_block_scope(stamp: int, now: int) -> bool:
    """Whether either of two accesses is atomic for its block alone."""
    return BLOCK_ATOMIC in (stamp >> KIND_SHIFT & 3, now)


def _for_whom(kind: Any, same_block: Array | bool) -> Any:
    return np.where(kind == BLOCK_ATOMIC, np.where(same_block, ATOMIC, PLAIN), kind)
