"""The heap of device code: memory from `malloc` is never reused, and exists only during the
launch."""

from __future__ import annotations

import numpy as np

from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.decode.calls import HEAP, HEAP_ALIGNMENT, HEAP_BYTES
from harness.emulator.program.ir import Program, SymbolAddress


def place(memory: AddressSpace, program: Program) -> None:
    """Add the heap to the memory of a launch whose kernel allocates from it. It is empty at
    first."""
    if program.once(_allocates):
        add(memory)


def add(memory: AddressSpace) -> None:
    """Add an empty heap."""
    heap = memory.add(HEAP, np.zeros(HEAP_BYTES, np.uint8))
    heap.written = np.zeros(HEAP_BYTES, np.uint8)
    heap.written[:HEAP_ALIGNMENT] = 1


def slot(memory: AddressSpace) -> int:
    """The heap's number among the buffers; -1 if there is none."""
    return next((n for n, each in enumerate(memory.allocations) if each.name == HEAP), -1)


def _allocates(program: Program) -> bool:
    sources = (s for block in program.blocks for op in block.ops for s in op.sources)
    return any(isinstance(s, SymbolAddress) and s.name == HEAP for s in sources)
