"""The address space of a launch: arrays of the caller and variables of the module, far apart.

Every allocation has 64 GiB of addresses of its own with its data in the middle, so an index that
runs off an array, in either direction, never lands in another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.memory.sectors import SectorMap, untouched

Array = NDArray[Any]


SLOT_BITS = 36
MAX_ALLOCATIONS = 1 << 9
SHARED_WINDOW = 1 << 46
LOCAL_WINDOW = SHARED_WINDOW + (1 << 32)
WINDOW_BYTES = 1 << 24


@dataclass
class Allocation:
    """One buffer. `data` are its bytes, in place."""

    name: str
    base: int
    data: Array
    writable: bool = True
    written: Array | None = None
    """By byte, 0 where nothing has written it; None for a buffer that came with its contents."""
    _views: dict[np.dtype[Any], Array] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.data.size

    def view(self, dtype: np.dtype[Any]) -> Array:
        """The whole words of a type in the buffer."""
        found = self._views.get(dtype)
        if found is None:
            usable = self.size // dtype.itemsize * dtype.itemsize
            found = self._views[dtype] = self.data[:usable].view(dtype)
        return found

    @cached_property
    def sectors_read(self) -> SectorMap:
        """A byte for each 32-byte sector: whether a global access of the launch read it."""
        return untouched(self.size)

    @cached_property
    def sectors_written(self) -> SectorMap:
        """The same of writes. An atomic, also one whose result nobody wants, reads and writes."""
        return untouched(self.size)

    def touched(self) -> tuple[int, int]:
        """How many sectors were read, and written; a map that nobody asked for is not made."""
        maps = (vars(self).get(name) for name in ("sectors_read", "sectors_written"))
        read, written = (0 if each is None else int(np.count_nonzero(each)) for each in maps)
        return read, written


def address_of_slot(slot: int) -> int:
    """Where the buffer of that number starts."""
    return ((slot + 1) << SLOT_BITS) + (1 << (SLOT_BITS - 1))


class AddressSpace:
    """The buffers of one launch."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []

    def add(self, name: str, data: Array, writable: bool = True) -> Allocation:
        """Place a buffer of bytes; its address is aligned as cudaMalloc aligns."""
        base = address_of_slot(len(self.allocations))
        allocation = Allocation(name, base, data, writable)
        self.allocations.append(allocation)
        return allocation
