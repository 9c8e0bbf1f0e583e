"""Reads of local memory that nothing wrote: an array of a thread's own, used before it is set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.active import Active
from harness.emulator.excuses import Excuses
from harness.emulator.faults import KernelFault

Array = NDArray[Any]


def unwritten(
    memory: str, size: int, offset: int, site: int, lanes: Active, position: int
) -> KernelFault:
    """The fault of a word of which nothing is written.

    Where part of it is, the rest may be a struct's padding, copied with its members.
    """
    message = (
        f"read of {size} bytes at offset {offset} of {memory} memory, which nothing has written"
    )
    return KernelFault("uninitialised", message, site, lanes, position)


class Initialised:
    """Which words of `grain` bytes are written, for `rows` memories of `size` bytes each."""

    def __init__(self, rows: int, size: int, grain: int, excuses: Excuses) -> None:
        self.excuses = excuses
        self.grain = grain
        self.words = -(-size // grain)
        self._written = np.zeros(rows * self.words, np.bool_)

    def start(self) -> None:
        """Nothing is written."""
        self._written.fill(False)

    def _index(self, lanes: Active, addresses: Array) -> Array:
        index: Array = lanes.lanes() * self.words + lanes.full(addresses) // self.grain
        return index

    def read(self, lanes: Active, site: int, addresses: Array, size: int, count: int = 1) -> None:
        index = self._index(lanes, addresses)
        each = max(1, size // self.grain)
        for first in range(0, each * count, each):
            known = self._written[index + first]
            for i in range(1, each):
                if known.all():
                    break
                known = known | self._written[index + first + i]
            if not known.all() and not (
                self.excuses.copy(site, first // each) or self.excuses.speculative(site)
            ):
                position = int(np.argmin(known))
                offset = int(lanes.full(addresses)[position]) + first * self.grain
                raise unwritten("local", size, offset, site, lanes, position)

    def write(
        self, lanes: Active, _site: int, addresses: Array, values: tuple[Array, ...], _before: Array
    ) -> None:
        index = self._index(lanes, addresses)
        for i in range(max(1, values[0].dtype.itemsize * len(values) // self.grain)):
            self._written[index + i] = True

    update = read
