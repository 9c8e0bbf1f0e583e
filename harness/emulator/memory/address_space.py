"""The address space of a launch: the caller's arrays and the module's variables, with large gaps
between them.

Every allocation has 64 GiB of addresses of its own, with its data in the middle, so an index beyond
either end of an array never reaches another array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.memory.textures import Described
from harness.silicon.architectures import SECTOR_BYTES

Array = NDArray[Any]


SLOT_BITS = 36
MAX_ALLOCATIONS = 1 << 9
SHARED_WINDOW = 1 << 46
LOCAL_WINDOW = SHARED_WINDOW + (1 << 32)
WINDOW_BYTES = 1 << 24


@dataclass
class Allocation:
    """One buffer. `data` holds its bytes, in place; `address` is their address in this process."""

    name: str
    base: int
    data: Array
    address: int
    writable: bool = True
    written: Array | None = None
    """The state of each byte, 0 if it has not been written; None for a buffer whose contents were
    given."""
    sectors: Array | None = None
    """The sectors of 32 bytes that global accesses touched, marked by 1: first the sectors that the
    launch read, then those that it wrote. An atomic both reads and writes, even if its result is
    not used."""
    element: np.dtype[Any] | None = None
    """The structure of the buffer's elements, if the caller passed an array of structures."""

    @property
    def size(self) -> int:
        return self.data.size

    def position(self, at: int) -> str:
        """Name a byte, by its member if the elements are structures."""
        if self.element is None or not 0 <= at < self.size:
            return f"offset {at} of {self.name}"
        index, member = divmod(at, self.element.itemsize)
        path = "".join(_members(self.element, member))
        return f"offset {at} of {self.name} ([{index}]{path})"

    @property
    def sector_count(self) -> int:
        return -(-self.size // SECTOR_BYTES)

    def touched(self) -> tuple[int, int]:
        """The number of sectors that were read, and the number that were written."""
        if self.sectors is None:
            return 0, 0
        read, written = self.sectors.reshape(2, -1)
        return int(np.count_nonzero(read)), int(np.count_nonzero(written))


def _members(of: np.dtype[Any], at: int) -> Iterator[str]:
    """Yield the members at an offset of a structure, from the outermost inwards; none for
    padding."""
    if of.subdtype is not None:
        element, extents = of.subdtype
        index, at = divmod(at, element.itemsize)
        yield "".join(f"[{each}]" for each in np.unravel_index(index, extents))
        yield from _members(element, at)
    for name, (member, start, *_) in (of.fields or {}).items():
        if start <= at < start + member.itemsize:
            yield f".{name}"
            yield from _members(member, at - start)
            return


def address_of_slot(slot: int) -> int:
    """The address at which the buffer with that number starts."""
    return ((slot + 1) << SLOT_BITS) + (1 << (SLOT_BITS - 1))


class AddressSpace:
    """The buffers of one launch."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.textures: list[tuple[str, Described]] = []
        """Each texture's name in messages, and its description."""

    def add(
        self, name: str, data: Array, writable: bool = True, address: int | None = None,
        element: np.dtype[Any] | None = None,
    ) -> Allocation:  # fmt: skip
        """Place a buffer of bytes, aligned as by cudaMalloc.

        `address`: where the data is in this process, if the caller knows.
        """
        base = address_of_slot(len(self.allocations))
        allocation = Allocation(
            name, base, data, data.ctypes.data if address is None else address, writable,
            element=element,
        )  # fmt: skip
        self.allocations.append(allocation)
        return allocation

    def copied(self) -> AddressSpace:
        """Return the same buffers at the same addresses, with a copy of their contents."""
        copy = AddressSpace()
        for each in self.allocations:
            placed = copy.add(each.name, each.data.copy(), each.writable, element=each.element)
            placed.written = None if each.written is None else each.written.copy()
        copy.textures = [(label, described.copied()) for label, described in self.textures]
        return copy

    def restore(self, before: AddressSpace) -> None:
        """Restore the contents that were copied into `before`."""
        for each, was in zip(self.allocations, before.allocations, strict=True):
            if each.writable:
                each.data[:] = was.data
            if each.written is not None and was.written is not None:
                each.written[:] = was.written
        for (_, now), (_, texture) in zip(self.textures, before.textures, strict=True):
            if now is not texture:
                now.what.texels[...] = texture.what.texels

    def map_sectors(self) -> list[int]:
        """Create empty maps of the sectors of every buffer; return the address of each.

        The maps are one array, so pages that nothing touches cost no memory.
        """
        sizes = [2 * allocation.sector_count for allocation in self.allocations]
        maps = np.zeros(sum(sizes), np.uint8)
        starts = [0, *accumulate(sizes)]
        for allocation, start, size in zip(self.allocations, starts, sizes, strict=False):
            allocation.sectors = maps[start : start + size]
        first: int = maps.ctypes.data
        return [first + start for start in starts[:-1]]
