"""How an access behaves in a race, and a log by which an old access can still be named.

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

from harness.emulator.program import Program
from harness.emulator.signatures import split_opcode

Array = NDArray[Any]

PLAIN, VOLATILE, ATOMIC = 0, 1, 2

KIND_SHIFT = 28
EVENT_SHIFT = 30
LANE_MASK = (1 << KIND_SHIFT) - 1
KIND_MASK = 3 << KIND_SHIFT

_STRONG = {"relaxed", "acquire", "release", "acq_rel", "sc"}


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


def access_kinds(program: Program) -> list[int]:
    """For each site whether it is a plain, a volatile or an atomic access."""
    return [access_kind(site.opcode) for site in program.sites]


def access_kind(opcode: str) -> int:
    name, modifiers, _ = split_opcode(opcode)
    if name in ("atom", "red") or _STRONG & set(modifiers):
        return ATOMIC
    return VOLATILE if "volatile" in modifiers else PLAIN


def fences(program: Program) -> list[bool]:
    """For each site whether it is a fence, too, if it is an atomic access."""
    orders = {"acquire", "release", "acq_rel", "sc"}
    return [bool(orders & set(split_opcode(site.opcode)[1])) for site in program.sites]


def tolerated(stamps: Array, now: int, same_warp: Array) -> Array:
    """Whether accesses with these stamps and one of kind `now` may meet unordered.

    Atomics may meet atomics and volatile accesses: locks and flags. Two volatile accesses may meet
    if they belong to different warps, as where one warp waits for another's flag; within a warp
    they are what programs wrote when lanes still ran in lockstep, and are a race.
    """
    before = (stamps & KIND_MASK) >> KIND_SHIFT
    if now == PLAIN:
        return np.zeros(before.shape, np.bool_)
    either = before == ATOMIC if now != ATOMIC else np.True_
    return (before != PLAIN) & (either | ~same_warp)
