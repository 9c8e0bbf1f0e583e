"""The heap of device code, which lasts as long as the module, like its variables.

Memory from `malloc` is not reused until a launch begins while no allocation is in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.decode.calls import (
    ALLOCATION,
    HEAP,
    HEAP_ALIGNMENT,
    HEAP_BYTES,
    RELEASE,
)


def _header_alone() -> NDArray[Any]:
    written = np.zeros(HEAP_BYTES, np.uint8)
    written[:HEAP_ALIGNMENT] = 1
    return written


@dataclass
class Heap:
    """A heap between launches. Its first two words are the number of bytes that have been given
    out, and the number of allocations in use."""

    data: NDArray[Any] = field(default_factory=lambda: np.zeros(HEAP_BYTES, np.uint8))
    written: NDArray[Any] = field(default_factory=_header_alone)

    def place(self, memory: AddressSpace) -> None:
        """Add the heap to the memory of a launch; the heap is empty if no allocation is in use."""
        given, used = self.data[:HEAP_ALIGNMENT].view(np.uint64)
        if given and not used:
            self.data[:HEAP_ALIGNMENT] = 0
            self.written[HEAP_ALIGNMENT:] = 0
        memory.add(HEAP, self.data).written = self.written


def heap_for(called: Iterable[str]) -> Heap | None:
    """Return a heap for code that calls these functions, if one of them needs it."""
    return Heap() if {ALLOCATION, RELEASE} & set(called) else None


def slot(memory: AddressSpace) -> int:
    """The heap's number among the buffers; -1 if there is none."""
    return next((n for n, each in enumerate(memory.allocations) if each.name == HEAP), -1)
