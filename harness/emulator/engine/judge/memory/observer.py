"""What a launch read and wrote, byte by byte.

An engine that can, tells an Observer of every access to global memory. What it saw is part of the
LaunchReport and depends on neither the engine nor its order of blocks, but for one thing: whether a
byte was read before the launch wrote it, where two threads do so that nothing orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.lanes import Active
from harness.emulator.engine.judge.memory.global_memory import GlobalMemory, Watch
from harness.emulator.memory.address_space import AddressSpace, Allocation
from harness.emulator.results.observed import Observed

Array = NDArray[Any]


class Observer:
    """Takes note of accesses, and passes them on to the checks, if these are on."""

    def __init__(self, memory: AddressSpace, variables: int) -> None:
        """`variables`: how many of the memory's first buffers are variables of the module."""
        self._next: Watch | None = None
        self._seen = {
            allocation.base: Observed(
                allocation.name.strip("`"), number < variables, *_never(allocation.size)
            )
            for number, allocation in enumerate(memory.allocations)
        }

    @property
    def observed(self) -> tuple[Observed, ...]:
        return tuple(self._seen.values())

    def attach(self, memory: GlobalMemory) -> None:
        """From now on be told, before whoever was told so far."""
        self._next, memory.watch = memory.watch, self

    def read(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        if self._next is not None:
            self._next.read(lanes, site, allocation, addresses, width)
        seen, places = self._seen[allocation.base], _bytes(allocation, addresses, width)
        _note_read(seen, places, site)

    def write(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array,
        values: tuple[Array, ...],
    ) -> None:  # fmt: skip
        if self._next is not None:
            self._next.write(lanes, site, allocation, addresses, values)
        width = values[0].dtype.itemsize * len(values)
        _note(self._seen[allocation.base].written, _bytes(allocation, addresses, width), site)

    def update(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        if self._next is not None:
            self._next.update(lanes, site, allocation, addresses, width)
        seen, places = self._seen[allocation.base], _bytes(allocation, addresses, width)
        _note_read(seen, places, site)
        _note(seen.written, places, site)


def _never(size: int) -> tuple[Array, Array, Array]:
    return np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)


def _bytes(allocation: Allocation, addresses: Array, width: int) -> Any:
    """What selects the bytes of an access: a slice where the lanes follow one another."""
    first = addresses.reshape(-1) - allocation.base
    low, high = int(first.min()), int(first.max())
    if high - low == width * (len(first) - 1) and bool((np.diff(first) == width).all()):
        return slice(low, high + width)
    return (first[:, None] + np.arange(width)).reshape(-1)


def _note_read(seen: Observed, places: Any, site: int) -> None:
    _note(seen.read, places, site)
    found = np.where(seen.written[places] == 0, site + 1, 0)
    before = seen.read_before_write[places]
    seen.read_before_write[places] = np.where(before == 0, found, before)


def _note(sites: Array, places: Any, site: int) -> None:
    before = sites[places]
    sites[places] = np.where(before == 0, site + 1, before)
