"""Shared memory (a row for each block) and local memory (a row for each thread).

Addresses in shared memory are relative to the block, so most patterns are the same for all blocks
of a chunk: such an access is one slice of a two-dimensional array, and its bank conflicts are
worked out once for each distinct pattern of addresses. Both memories start out as 0xFF bytes (NaN
as a float), so that a read of what nothing wrote does not look right by accident.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Active, Index, as_slice, assign, pick
from harness.emulator.engine.judge.memory.costs import AccessCounts

Array = NDArray[Any]
_ROW_ALIGNMENT = 16
_CACHED_PATTERNS = 512


class Watch(Protocol):
    """A check that is told of every access that lies within the memory."""

    def read(self, lanes: Active, site: int, addresses: Array, size: int, count: int) -> None:
        """A load of `count` words of `size` bytes per lane."""

    def write(
        self, lanes: Active, site: int, addresses: Array, values: tuple[Array, ...], before: Array
    ) -> None:
        """A store that is about to happen; `before` is the memory in words of that type, flat."""

    def update(self, lanes: Active, site: int, addresses: Array, size: int) -> None:
        """An atomic."""


class BlockMemory:
    """`rows` memories of `size` bytes each. `per_thread` says that rows are threads."""

    def __init__(self, name: str, rows: int, size: int, *, per_thread: bool) -> None:
        self.name = name
        self.size = size
        self.per_thread = per_thread
        stride = -(-size // _ROW_ALIGNMENT) * _ROW_ALIGNMENT
        self.data = np.full((rows, stride), 0xFF, np.uint8)
        self._views: dict[np.dtype[Any], Array] = {}
        self.watch: Watch | None = None

    def clear(self) -> None:
        """Forget what is in it: the next chunk's blocks start."""
        self.data.fill(0xFF)

    def view(self, dtype: np.dtype[Any]) -> Array:
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.data.view(dtype)
        return found

    # --- access ---------------------------------------------------------------------------

    def check(self, lanes: Active, site: int, addresses: Array, width: int, verb: str) -> None:
        """Raises KernelFault for an access outside the memory or misaligned."""
        low, high = int(addresses.min()), int(addresses.max())
        outside = low < 0 or high + width > self.size
        misaligned = width > 1 and int(np.bitwise_or.reduce(addresses, axis=None)) & (width - 1)
        if not outside and not misaligned:
            return
        flat = lanes.full(addresses)
        if outside:
            bad = (flat < 0) | (flat + width > self.size)
            position = int(np.argmax(bad))
            message = (
                f"{verb} of {width} bytes at offset {int(flat[position])} of {self.name} memory, "
                f"which has {self.size} bytes"
            )
            raise KernelFault("out of bounds", message, site, lanes, position)
        position = int(np.argmax(flat & (width - 1) != 0))
        message = (
            f"{verb} of {width} bytes at offset {int(flat[position])} of {self.name} memory, "
            f"which is not a multiple of {width}"
        )
        raise KernelFault("misaligned", message, site, lanes, position)

    def _pattern(
        self,
        counts: AccessCounts,
        lanes: Active,
        site: int,
        addresses: Array,
        width: int,
        verb: str,
    ) -> Index | None:
        """Check and count an access. The words' columns if all rows use the same, else None."""
        common = addresses.shape[0] == 1 and lanes.flat is None and not self.per_thread
        if not common:
            self.check(lanes, site, addresses, width, verb)
            if not self.per_thread:
                cost, ideal = counts.shared_cost(lanes, addresses, width, load=verb == "read")
                rows = lanes.n_rows // addresses.shape[0]
                self._add(counts, site, lanes.warps, cost * rows, ideal * rows)
            return None
        key = (site, addresses.tobytes())
        found = lanes.patterns.get(key)
        if found is None:
            self.check(lanes, site, addresses, width, verb)
            cost, ideal = counts.shared_cost(lanes, addresses, width, load=verb == "read")
            if len(lanes.patterns) >= _CACHED_PATTERNS:
                lanes.patterns.clear()
            found = lanes.patterns[key] = (cost, ideal, as_slice(addresses[0]))
        cost, ideal, columns = found
        self._add(counts, site, lanes.warps, cost * lanes.n_rows, ideal * lanes.n_rows)
        return columns

    @staticmethod
    def _add(counts: AccessCounts, site: int, requests: int, cost: int, ideal: int) -> None:
        counts.shared_requests[site] += requests
        counts.wavefronts[site] += cost
        counts.wavefronts_ideal[site] += ideal

    def load(
        self, counts: AccessCounts, lanes: Active, site: int, addresses: Array,
        dtype: np.dtype[Any], count: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Read `count` words per lane."""
        size = dtype.itemsize
        columns = self._pattern(counts, lanes, site, addresses, size * count, "read")
        if self.watch is not None:
            self.watch.read(lanes, site, addresses, size, count)
        words = self.view(dtype)
        if columns is None:
            index = self.flat_index(lanes, addresses, size)
            return tuple(words.reshape(-1).take(index + i) for i in range(count))
        return tuple(
            np.array(pick(words, lanes.rows, _words(columns, size, i)), order="C")
            for i in range(count)
        )

    def store(
        self,
        counts: AccessCounts,
        lanes: Active,
        site: int,
        addresses: Array,
        values: tuple[Array, ...],
    ) -> None:
        """Write a word or vector a lane; of lanes at one address the last one stays."""
        size = values[0].dtype.itemsize
        columns = self._pattern(counts, lanes, site, addresses, size * len(values), "write")
        words = self.view(values[0].dtype)
        if self.watch is not None:
            self.watch.write(lanes, site, addresses, values, words.reshape(-1))
        for i, value in enumerate(values):
            if columns is None:
                index = lanes.full(self.flat_index(lanes, addresses, size))
                words.reshape(-1)[index + i] = lanes.full(value)
            else:
                if addresses.shape[1] == 1 and value.shape[1] > 1:
                    value = value[:, -1:]  # noqa: PLW2901  one address for all threads
                assign(words, lanes.rows, _words(columns, size, i), value)

    def flat_index(self, lanes: Active, addresses: Array, size: int) -> Array:
        """Word numbers in the whole memory."""
        stride = self.data.shape[1] // size
        if self.per_thread:
            rows = lanes.lanes().reshape(lanes.n_rows, lanes.n_columns)
        else:
            rows = lanes.row_numbers()
        index: Array = rows * stride + addresses // size
        return index


def _words(columns: Index, size: int, plus: int) -> Index:
    """Byte columns to word columns, `plus` words further on."""
    if not isinstance(columns, slice):
        return columns // size + plus
    first = columns.start // size + plus
    if columns.step is None or columns.stop - columns.start == 1:
        return slice(first, first + 1)
    last = (columns.stop - 1) // size + plus
    return slice(first, last + 1, max(columns.step // size, 1))
