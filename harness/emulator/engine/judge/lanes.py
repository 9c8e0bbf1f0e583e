"""Which lanes of a chunk are executing, and how values move in and out of that selection.

Every value is an array of shape (1 or blocks, 1 or threads): what does not vary along an axis is
kept once, and NumPy broadcasts. A selection of lanes is whole (every lane of the chunk), a grid
(some blocks × some threads, as in `if (tid < k)`), or a list. In a grid, values keep both axes, so
that what depends on the thread only is still computed once for all blocks; a list has shape
(1, lanes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Index = Any  # a slice or an index array
WARP = 32
ALL = slice(None)
CACHED_SELECTIONS = 1024


class Geometry:
    """The shape of a chunk: so many blocks of so many threads. Caches selections of threads."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.blocks = blocks
        self.threads = threads
        self.warps = -(-threads // WARP)
        self.whole = Active(self, np.ones((1, 1), np.bool_), ALL, ALL, blocks, threads)
        self._by_threads: dict[bytes, Active] = {}

    def select(self, mask: Mask) -> Active:
        """The selection of a mask of shape (1 or blocks, 1 or threads); at least one lane."""
        rows, columns = mask.shape
        if rows == 1 and columns == 1:
            return self.whole
        if rows == 1:
            key = mask.tobytes()
            found = self._by_threads.get(key)
            if found is None:
                if len(self._by_threads) >= CACHED_SELECTIONS:
                    self._by_threads.clear()
                found = self._grid(mask, None, np.flatnonzero(mask[0]))
                self._by_threads[key] = found
            return found
        if columns == 1:
            return self._grid(mask, np.flatnonzero(mask[:, 0]), None)
        lanes = np.count_nonzero(mask)
        if lanes == mask.size:
            return self.whole
        in_rows, in_columns = mask.any(axis=1), mask.any(axis=0)
        if np.count_nonzero(in_rows) * np.count_nonzero(in_columns) == lanes:
            every_row, every_column = in_rows.all(), in_columns.all()
            return self._grid(
                mask,
                None if every_row else np.flatnonzero(in_rows),
                None if every_column else np.flatnonzero(in_columns),
            )
        flat = np.flatnonzero(mask)
        selection = Active(self, mask, ALL, ALL, 1, len(flat))
        selection.flat = flat
        return selection

    def split_warps(self, *masks: Mask) -> int:
        """How many warps have lanes in more than one of several masks."""
        words = [self._words(mask) for mask in masks]
        if len(words) == 2:
            split = np.logical_and(*words)
        else:
            shape = max(len(each) for each in words), self.warps
            ways = np.zeros(shape, np.int32)
            for each in words:
                ways += each != 0
            split = ways > 1
        return int(np.count_nonzero(split)) * (self.blocks if len(split) == 1 else 1)

    def _words(self, mask: Mask) -> NDArray[np.uint32]:
        """A mask with a bit for each lane, shape (1 or blocks, warps), or 1 for all warps alike."""
        rows, columns = mask.shape
        if columns == 1:
            return mask.astype(np.uint32)
        if columns % WARP:
            padded = np.zeros((rows, self.warps * WARP), np.bool_)
            padded[:, :columns] = mask
            mask = padded
        return np.packbits(mask).view(np.uint32).reshape(rows, self.warps)

    def _grid(self, mask: Mask, rows: Array | None, columns: Array | None) -> Active:
        if rows is not None and len(rows) == self.blocks:
            rows = None
        if columns is not None and len(columns) == self.threads:
            columns = None
        if rows is None and columns is None:
            return self.whole
        return Active(
            self,
            mask,
            ALL if rows is None else as_slice(rows),
            ALL if columns is None else as_slice(columns),
            self.blocks if rows is None else len(rows),
            self.threads if columns is None else len(columns),
        )


class Active:
    """A selection of lanes; `rows` × `columns` of them, or `flat` lane numbers if a list."""

    __slots__ = (
        "_layout", "columns", "count", "flat", "geometry", "mask", "n_columns",
        "n_rows", "patterns", "rows", "splits", "whole",
    )  # fmt: skip

    def __init__(
        self, geometry: Geometry, mask: Mask, rows: Index, columns: Index, n_rows: int,
        n_columns: int,
    ) -> None:  # fmt: skip
        self.geometry = geometry
        self.mask = mask
        self.rows = rows
        self.columns = columns
        self.n_rows = n_rows
        self.n_columns = n_columns
        self.count = n_rows * n_columns
        self.flat: Array | None = None
        self.whole = rows is ALL and columns is ALL and mask.size == 1
        self.patterns: dict[tuple[int, bytes], Any] = {}  # see BlockMemory
        self.splits: dict[bytes, int] = {}
        self._layout: tuple[int, Array | None, Mask | None] | None = None

    # --- values in and out ----------------------------------------------------------------

    def get(self, value: Array) -> Array:
        """The active lanes of a register."""
        if self.whole or value.size == 1:
            return value
        if self.flat is not None:
            rows, columns = value.shape
            threads = self.geometry.threads
            if rows > 1 and columns > 1:
                return value.reshape(-1)[self.flat][None]
            if rows > 1:
                return value[self.flat // threads, 0][None]
            return value[:, self.flat % threads]
        if value.shape[0] > 1:
            value = value[self.rows]
        if value.shape[1] > 1:
            value = value[:, self.columns]
        return value

    def put(self, old: Array, new: Array) -> Array:
        """A register with its active lanes replaced; `old` is not changed."""
        if self.whole:
            return new
        geometry = self.geometry
        if self.flat is not None:
            out = np.empty((geometry.blocks, geometry.threads), new.dtype)
            out[...] = old
            out.reshape(-1)[self.flat] = new[0]
            return out
        by_row = old.shape[0] > 1 or new.shape[0] > 1 or self.rows is not ALL
        by_column = old.shape[1] > 1 or new.shape[1] > 1 or self.columns is not ALL
        out = np.empty(
            (geometry.blocks if by_row else 1, geometry.threads if by_column else 1), new.dtype
        )
        out[...] = old
        assign(out, self.rows if by_row else ALL, self.columns if by_column else ALL, new)
        return out

    def masks(self, predicate: Mask) -> tuple[Mask | None, Mask | None]:
        """Masks of the lanes where a predicate holds and where not; None for no lane."""
        if predicate.all():
            return self.mask, None
        if not predicate.any():
            return None, self.mask
        if self.whole:
            return predicate, ~predicate
        on = self.put(np.zeros((1, 1), np.bool_), predicate)
        return on, self.mask & ~on

    def diverged_warps(self, on: Mask, off: Mask) -> int:
        """How many warps are on both sides, of what `masks` gave."""
        if len(on) > 1 or len(off) > 1:
            return self.geometry.split_warps(on, off)
        key = on.tobytes()  # in a loop over `tid < s`, chunk after chunk, the same few
        found = self.splits.get(key)
        if found is None:
            if len(self.splits) >= CACHED_SELECTIONS:
                self.splits.clear()
            found = self.splits[key] = self.geometry.split_warps(on, off)
        return found

    def part(self, chosen: Mask) -> tuple[Active, Array]:
        """A list selection of some lanes, and their positions among this selection's lanes."""
        positions = np.flatnonzero(self.full(chosen))
        lanes = self.lanes()[positions]
        geometry = self.geometry
        mask = np.zeros(geometry.blocks * geometry.threads, np.bool_)
        mask[lanes] = True
        part = Active(
            geometry, mask.reshape(geometry.blocks, geometry.threads), ALL, ALL, 1, len(lanes)
        )
        part.flat = lanes
        return part, positions

    def full(self, value: Array) -> Array:
        """A value with one entry for each lane, flat, in the order of `lanes`."""
        if value.size == self.count:
            return value.reshape(-1)
        return np.broadcast_to(value, (self.n_rows, self.n_columns)).reshape(-1)

    def lanes(self) -> Array:
        """Lane numbers within the chunk: block × threads + thread."""
        if self.flat is not None:
            return self.flat
        geometry = self.geometry
        rows = np.arange(geometry.blocks)[self.rows]
        columns = np.arange(geometry.threads)[self.columns]
        return (rows[:, None] * geometry.threads + columns).reshape(-1)

    def lane(self, position: int) -> tuple[int, int]:
        """Block within the chunk, and thread, of a lane by its position in this selection."""
        return divmod(int(self.lanes()[position]), self.geometry.threads)

    def row_numbers(self) -> Array:
        """Block of each lane, in a shape that broadcasts against values."""
        if self.flat is not None:
            return (self.flat // self.geometry.threads)[None]
        return np.arange(self.geometry.blocks)[self.rows][:, None]

    # --- warps ----------------------------------------------------------------------------

    def _warp_layout(self) -> tuple[int, Array | None, Mask | None]:
        """Warps per row, each column's place in them (None if in order), and active places.

        Only warps with an active lane are laid out. Active places are None if all are active.
        """
        if self._layout is None:
            geometry = self.geometry
            if self.flat is not None and geometry.threads % WARP == 0:
                warp, lane = self.flat >> 5, self.flat & (WARP - 1)
            elif self.flat is not None:
                block, thread = np.divmod(self.flat, geometry.threads)
                warp, lane = block * geometry.warps + thread // WARP, thread % WARP
            else:
                thread = np.arange(geometry.threads)[self.columns]
                warp, lane = thread // WARP, thread % WARP
            first = np.ones(len(warp), np.bool_)
            first[1:] = warp[1:] != warp[:-1]
            index = np.cumsum(first) - 1
            warps = int(index[-1]) + 1
            if warps * WARP == len(warp):
                self._layout = warps, None, None
            else:
                place = index * WARP + lane
                active = np.zeros(warps * WARP, np.bool_)
                active[place] = True
                self._layout = warps, place, active.reshape(warps, WARP)
        return self._layout

    @property
    def warps(self) -> int:
        """How many warps have an active lane."""
        return self.n_rows * self._warp_layout()[0]

    def to_warps(self, value: Array) -> Array:
        """Lanes laid out by warp, shape (rows × warps, 32), for as many rows as the value has."""
        warps, place, _ = self._warp_layout()
        rows = value.shape[0]
        if value.shape[1] != self.n_columns:
            value = np.broadcast_to(value, (rows, self.n_columns))
        if place is None:
            return value.reshape(rows * warps, WARP)
        out = np.zeros((rows, warps * WARP), value.dtype)
        out[:, place] = value
        return out.reshape(rows * warps, WARP)

    def warp_mask(self, rows: int) -> Mask:
        """Active places in the layout of `to_warps` for a value of so many rows."""
        warps, _, active = self._warp_layout()
        if active is None:
            return np.ones((rows * warps, WARP), np.bool_)
        return np.tile(active, (rows, 1)) if rows > 1 else active

    @property
    def full_warps(self) -> bool:
        """Whether every warp of the selection has all its lanes active."""
        return self._warp_layout()[2] is None

    def from_warps(self, laid_out: Array, rows: int) -> Array:
        """The inverse of `to_warps`."""
        warps, place, _ = self._warp_layout()
        laid_out = laid_out.reshape(rows, warps * WARP)
        return laid_out if place is None else laid_out[:, place]


def as_slice(index: Array) -> Index:
    """An ascending index array as a slice where its steps are equal, else itself."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    step = int(index[1]) - int(index[0])
    if step > 0 and ((index[1:] - index[:-1]) == step).all():
        return slice(int(index[0]), int(index[-1]) + 1, step)
    return index


def assign(target: Array, rows: Index, columns: Index, value: Array) -> None:
    """`target[rows × columns] = value` for any mix of slices and index arrays."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        target[rows, columns] = value
    else:
        target[rows[:, None], columns] = value


def pick(source: Array, rows: Index, columns: Index) -> Array:
    """`source[rows × columns]` for any mix of slices and index arrays."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        picked: Array = source[rows, columns]
        return picked
    crossed: Array = source[rows[:, None], columns]
    return crossed
