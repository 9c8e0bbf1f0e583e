"""`cp.async`: copies from global to shared memory that arrive when somebody waits for them.

The source is read when the copy is issued and the bytes land at the wait that covers their group,
so that reading shared memory too early shows what was there before, every time. Groups are counted
for each thread on its own. What nobody waits for never lands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.lanes import Active, Geometry

if TYPE_CHECKING:
    from harness.emulator.engine.judge.chunk import Chunk

Array = NDArray[Any]
_WORD = np.dtype(np.uint32)


@dataclass(frozen=True)
class _Copy:
    """A copy under way: its lanes, where it goes, what it carries, and each lane's group."""

    lanes: Active
    site: int
    target: Array
    words: tuple[Array, ...]
    groups: Array


class AsyncCopies:
    """The copies of a chunk that are under way."""

    def __init__(self, geometry: Geometry) -> None:
        self._committed = np.zeros(geometry.blocks * geometry.threads, np.int64)
        self._under_way: list[_Copy] = []

    def clear(self) -> None:
        """The chunk's next blocks start."""
        self._committed.fill(0)
        self._under_way.clear()

    def issue(self, lanes: Active, site: int, target: Array, words: tuple[Array, ...]) -> None:
        groups = self._committed[lanes.lanes()]
        self._under_way.append(_Copy(lanes, site, target, words, groups))

    def commit(self, lanes: Active) -> None:
        """What each lane has issued since its last commit becomes a group."""
        self._committed[lanes.lanes()] += 1

    def wait(self, chunk: Chunk, lanes: Active, newest: int | None) -> None:
        """Land all but each lane's `newest` groups; None for everything, committed or not."""
        waiting = np.zeros(len(self._committed), np.bool_)
        waiting[lanes.lanes()] = True
        still: list[_Copy] = []
        for copy in self._under_way:
            numbers = copy.lanes.lanes()
            lands = waiting[numbers]
            if newest is not None:
                lands = lands & (copy.groups < self._committed[numbers] - newest)
            if lands.all():
                chunk.store("shared", copy.lanes, copy.site, copy.target, copy.words)
            elif lands.any():
                chunk.store("shared", *_part(copy, lands))
                rest = _part(copy, ~lands)
                still.append(_Copy(*rest, copy.groups[~lands]))
            else:
                still.append(copy)
        self._under_way = still


def _part(copy: _Copy, chosen: Array) -> tuple[Active, int, Array, tuple[Array, ...]]:
    lanes = copy.lanes
    part, at = lanes.part(chosen.reshape(lanes.n_rows, lanes.n_columns))
    words = tuple(lanes.full(word)[at][None] for word in copy.words)
    return part, copy.site, lanes.full(copy.target)[at][None], words


def copy_async(
    chunk: Chunk, lanes: Active, site: int, variant: tuple[str, ...], target: Array, source: Array,
    filled: Array,
) -> tuple[()]:  # fmt: skip
    """Issue a copy of `variant[0]` bytes, of which `filled` are read and the rest are zero."""
    size = int(variant[0])
    count = size // _WORD.itemsize
    start, end = source.view(np.int64), target.astype(np.int64)
    if filled.size == 1 and int(filled.flat[0]) == size:
        words = chunk.load("global", lanes, site, start, _WORD, count)
    else:
        words = _partly_filled(chunk, lanes, site, start, lanes.full(filled), count)
    chunk.copies.issue(lanes, site, end, words)
    return ()


def _partly_filled(
    chunk: Chunk, lanes: Active, site: int, start: Array, filled: Array, count: int
) -> tuple[Array, ...]:
    """Read only so many bytes per lane: what lies beyond may not be there to be read."""
    raw = np.zeros((lanes.count, count * _WORD.itemsize), np.uint8)
    for bytes_ in np.unique(filled).tolist():
        if bytes_ == 0:
            continue
        part, at = lanes.part((filled == bytes_).reshape(lanes.n_rows, lanes.n_columns))
        first = lanes.full(start)[at][None]
        place = 0
        while place < min(bytes_, raw.shape[1]):
            dtype = _WORD if place + 4 <= bytes_ else np.dtype(np.uint8)
            (found,) = chunk.load("global", part, site, first + place, dtype, 1)
            unit = np.ascontiguousarray(part.full(found))[:, None].view(np.uint8)
            raw[at, place : place + dtype.itemsize] = unit
            place += dtype.itemsize
    columns = raw.view(_WORD)
    shape = (lanes.n_rows, lanes.n_columns)
    return tuple(np.ascontiguousarray(columns[:, i]).reshape(shape) for i in range(count))


def copy_commit(chunk: Chunk, lanes: Active, _: int, __: tuple[str, ...]) -> tuple[()]:
    chunk.copies.commit(lanes)
    return ()


def copy_wait(chunk: Chunk, lanes: Active, _: int, variant: tuple[str, ...]) -> tuple[()]:
    """Wait for all copies, or for all but the newest groups."""
    chunk.copies.wait(chunk, lanes, int(variant[0]) if variant else None)
    return ()
