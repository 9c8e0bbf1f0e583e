"""Loads and stores in global memory, for many lanes at once."""

from __future__ import annotations

import bisect
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.first_writes import FirstWrites
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.engine.judge.memory.costs import AccessCounts
from harness.emulator.memory.address_space import SLOT_BITS, AddressSpace, Allocation
from harness.emulator.memory.sectors import SectorMap, touch, touch_runs

Array = NDArray[Any]


class Runs(NamedTuple):
    """Rows of lanes that access one word after another."""

    starts: Array  # the first address of each row, shape (rows, 1)
    step: int | None  # from each start to the next; None where they differ


class Watch(Protocol):
    """A check that is told of every access that lies within a buffer."""

    def read(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        """A load of `width` bytes per lane."""

    def write(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array,
        values: tuple[Array, ...],
    ) -> None:  # fmt: skip
        """A store that is about to happen."""

    def update(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        """An atomic."""


class GlobalMemory:
    """Accesses to the buffers of a launch."""

    def __init__(self, space: AddressSpace) -> None:
        self.space, self.allocations = space, space.allocations
        self._bases = [each.base for each in space.allocations]
        self.watch: Watch | None = None
        self.first_writes: FirstWrites | None = None

    def locate(
        self, lanes: Active, site: int, addresses: Array, width: int, unit: int, verb: str
    ) -> Allocation | None:
        """The one allocation that every lane's access lies in; None if there are several.

        Raises KernelFault if an access lies in none, is misaligned, or may not write.
        """
        low, high = int(addresses.min()), int(addresses.max())
        at = bisect.bisect_right(self._bases, low) - 1
        if at >= 0:
            allocation = self.allocations[at]
            if high + width <= allocation.base + allocation.size:
                if width > 1 and int(np.bitwise_or.reduce(addresses, axis=None)) & (width - 1):
                    self._misaligned(lanes, site, addresses, width, verb)
                if verb != "read" and not allocation.writable:
                    message = f"{verb} of {width} bytes in {allocation.name}, which is read-only"
                    raise KernelFault("read-only", message, site, lanes, 0)
                return allocation
        flat = lanes.full(addresses)
        owner = np.searchsorted(self._bases, flat, side="right") - 1
        sizes = np.array([a.size for a in self.allocations] or [0])
        bases = np.array(self._bases or [0])
        inside = (owner >= 0) & (flat - bases[owner] + width <= sizes[owner])
        if not inside.all():
            position = int(np.argmin(inside))
            message = self._outside(int(flat[position]), width, verb)
            raise KernelFault("out of bounds", message, site, lanes, position)
        return None

    def _misaligned(
        self, lanes: Active, site: int, addresses: Array, width: int, verb: str
    ) -> None:
        flat = lanes.full(addresses)
        position = int(np.argmax(flat & (width - 1) != 0))
        allocation, offset = self._nearest(int(flat[position]))
        message = (
            f"{verb} of {width} bytes at offset {offset} of {allocation.name}, "
            f"which is not a multiple of {width}"
        )
        raise KernelFault("misaligned", message, site, lanes, position)

    def _nearest(self, address: int) -> tuple[Allocation, int]:
        slot = (address >> SLOT_BITS) - 1
        allocation = self.allocations[min(max(slot, 0), len(self.allocations) - 1)]
        return allocation, address - allocation.base

    def _outside(self, address: int, width: int, verb: str) -> str:
        shown = f"{address & (1 << 64) - 1:#x}"
        if not self.allocations:
            return f"{verb} of {width} bytes at {shown}, and the launch has no buffer"
        if 0 <= address < 1 << 16:
            return f"{verb} of {width} bytes at {shown}: a null pointer"
        allocation, offset = self._nearest(address)
        if offset < 0:
            place = f"at {-offset} bytes before {allocation.name}"
        elif offset + width > allocation.size and offset < allocation.size:
            place = f"across the end of {allocation.name}"
        else:
            place = f"at {offset - allocation.size} bytes past the end of {allocation.name}"
        return f"{verb} of {width} bytes {place} ({allocation.size} bytes)"

    def load(
        self, counts: AccessCounts | None, lanes: Active, site: int, addresses: Array,
        dtype: np.dtype[Any], count: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Read `count` words a lane. `counts` is None for what is not a global access."""
        width = dtype.itemsize * count
        allocation = self.locate(lanes, site, addresses, width, dtype.itemsize, "read")
        if allocation is None:
            return self._scattered(counts, lanes, site, addresses, dtype, count)
        if self.watch is not None:
            self.watch.read(lanes, site, allocation, addresses, width)
        if self.first_writes is not None:
            self.first_writes.read(lanes, site, allocation, addresses, dtype.itemsize, count)
        runs = _runs(addresses, width)
        if counts is not None:
            _count(counts, allocation.sectors_read, lanes, site, addresses, allocation.base, width,
                   runs)  # fmt: skip
        words = allocation.view(dtype)
        if runs is not None and runs.step is not None:
            found = _strided(allocation, runs, addresses.shape[1] * count, dtype)
            if count == 1:
                return (found.copy(),)
            return tuple(np.ascontiguousarray(found[:, i::count]) for i in range(count))
        index = addresses - allocation.base
        index //= dtype.itemsize
        return tuple(words.take(index + i if i else index) for i in range(count))

    def store(
        self, counts: AccessCounts | None, lanes: Active, site: int, addresses: Array,
        values: tuple[Array, ...],
    ) -> None:  # fmt: skip
        """Write a word or vector a lane; of lanes at one address the last one stays."""
        dtype, count = values[0].dtype, len(values)
        width = dtype.itemsize * count
        allocation = self.locate(lanes, site, addresses, width, dtype.itemsize, "write")
        if allocation is None:
            self._scatter(counts, lanes, site, addresses, values)
            return
        if counts is not None:
            _count(counts, allocation.sectors_written, lanes, site, addresses, allocation.base,
                   width, _runs(addresses, width))  # fmt: skip
        if self.watch is not None:
            self.watch.write(lanes, site, allocation, addresses, values)
        if self.first_writes is not None:
            self.first_writes.write(lanes, allocation, addresses, width)
        words = allocation.view(dtype)
        index = (addresses - allocation.base) // dtype.itemsize
        for i, value in enumerate(values):
            if value.size > index.size:
                index = lanes.full(index)
            if value.size == 1 and index.size == 1:
                words[index.item() + i] = value.item()
            elif index.size == 1 or value.size == 1 or index.shape == value.shape:
                words[index + i] = value
            else:
                words[lanes.full(index) + i] = lanes.full(value)

    def _scatter(
        self, counts: AccessCounts | None, lanes: Active, site: int, addresses: Array,
        values: tuple[Array, ...],
    ) -> None:  # fmt: skip
        """A store whose lanes write to several buffers."""
        dtype = values[0].dtype
        width = dtype.itemsize * len(values)
        if counts is not None:
            counts.global_access(lanes, site, addresses, width)
        flat = lanes.full(addresses)
        for owner in self._owners(flat):
            chosen = (flat >= owner.base) & (flat < owner.base + owner.size)
            if not owner.writable:
                message = f"write of {width} bytes in {owner.name}, which is read-only"
                raise KernelFault("read-only", message, site, lanes, int(np.argmax(chosen)))
            part, at = lanes.part(chosen.reshape(lanes.n_rows, lanes.n_columns))
            if self.first_writes is not None:
                self.first_writes.write(part, owner, flat[at][None], width)
            if self.watch is not None:
                split = tuple(lanes.full(value)[at][None] for value in values)
                self.watch.write(part, site, owner, flat[at][None], split)
            offsets = flat[chosen] - owner.base
            if counts is not None:
                touch(owner.sectors_written, offsets)
            index = offsets // dtype.itemsize
            for i, value in enumerate(values):
                owner.view(dtype)[index + i] = lanes.full(value)[chosen]

    def _scattered(
        self, counts: AccessCounts | None, lanes: Active, site: int, addresses: Array,
        dtype: np.dtype[Any], count: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        """A load whose lanes read from several buffers."""
        if counts is not None:
            counts.global_access(lanes, site, addresses, dtype.itemsize * count)
        flat = lanes.full(addresses)
        out = tuple(np.zeros(flat.shape, dtype) for _ in range(count))
        for owner in self._owners(flat):
            chosen = (flat >= owner.base) & (flat < owner.base + owner.size)
            part, at = lanes.part(chosen.reshape(lanes.n_rows, lanes.n_columns))
            if self.first_writes is not None:
                self.first_writes.read(part, site, owner, flat[at][None], dtype.itemsize, count)
            if self.watch is not None:
                self.watch.read(part, site, owner, flat[at][None], dtype.itemsize * count)
            offsets = flat[chosen] - owner.base
            if counts is not None:
                touch(owner.sectors_read, offsets)
            index = offsets // dtype.itemsize
            for i, each in enumerate(out):
                each[chosen] = owner.view(dtype)[index + i]
        return tuple(each.reshape(lanes.n_rows, lanes.n_columns) for each in out)

    def _owners(self, flat: Array) -> list[Allocation]:
        numbers = np.unique(np.searchsorted(self._bases, flat, side="right") - 1)
        return [self.allocations[int(n)] for n in numbers]


def _count(
    counts: AccessCounts, sectors: SectorMap, lanes: Active, site: int, addresses: Array, base: int,
    width: int, runs: Runs | None,
) -> None:  # fmt: skip
    """Count an access that lies in one buffer, and mark its sectors in the buffer's map."""
    columns = addresses.shape[1]
    if runs is None:
        touch(sectors, addresses - base)
    else:
        touch_runs(sectors, runs.starts - base, columns * width, runs.step)
    if runs is not None and lanes.full_warps and columns == lanes.n_columns:
        counts.global_contiguous(lanes, site, runs.starts, width)
    else:
        counts.global_access(lanes, site, addresses, width)


def _runs(addresses: Array, width: int) -> Runs | None:
    """Where the rows start if in every row the lanes follow one another, else None."""
    columns = addresses.shape[1]
    starts = addresses[:, :1]
    if columns == 1 or int(addresses[-1, -1] - starts[-1, 0]) != (columns - 1) * width:
        return None
    run = _distances.get((columns, width))
    if run is None:
        if len(_distances) > 64:
            _distances.clear()
        run = _distances[columns, width] = np.arange(columns, dtype=np.int64)[None] * width
    if not np.array_equal(addresses - starts, np.broadcast_to(run, addresses.shape)):
        return None
    if len(starts) == 1:
        return Runs(starts, 0)
    steps = starts[1:] - starts[:-1]
    step = int(steps[0, 0])
    return Runs(starts, step if (steps == step).all() else None)


_distances: dict[tuple[int, int], Array] = {}


def _strided(allocation: Allocation, runs: Runs, words: int, dtype: np.dtype[Any]) -> Array:
    """A view of rows of `words` words that start at equal steps."""
    assert runs.step is not None
    first = int(runs.starts[0, 0]) - allocation.base
    shape, strides = (len(runs.starts), words), (runs.step, dtype.itemsize)
    return np.ndarray(shape, dtype, allocation.data.data, first, strides)
