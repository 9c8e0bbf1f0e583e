"""Grids whose blocks wait for each other: cooperative groups' `this_grid().sync()`.

The driver gives such a launch a workspace, whose address is in two special registers, and the code
that nvcc emits counts the blocks in the workspace. The emulator executes all blocks of such a grid
together.
"""

from __future__ import annotations

import numpy as np

from harness.emulator.errors import LaunchError
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.ir import Program, Special

WORKSPACE = "grid workspace"
REGISTERS = {"envreg1": 32, "envreg2": 0}  # right shift of the address, in bits
_WORKSPACE_BYTES = 64
MOST_LANES = 1 << 18  # about as many threads as an H200 holds at once


def synchronises_grid(program: Program) -> bool:
    """Return whether a kernel uses the workspace."""
    return program.once(_reads_its_address)


def _reads_its_address(program: Program) -> bool:
    sources = (s for block in program.blocks for op in block.ops for s in op.sources)
    return any(isinstance(s, Special) and s.name in REGISTERS for s in sources)


def place_workspace(memory: AddressSpace) -> None:
    memory.add(WORKSPACE, np.zeros(_WORKSPACE_BYTES, np.uint8), True)


def workspace_registers(memory: AddressSpace) -> dict[str, int]:
    """The special registers of a launch; zero if it has no workspace."""
    address = next((a.base for a in memory.allocations if a.name == WORKSPACE), 0)
    return {name: address >> shift & 0xFFFFFFFF for name, shift in REGISTERS.items()}


def check_fits(kernel: str, blocks: int, threads: int, fitting: int) -> None:
    """Reject a grid that is too large to execute all at once (LaunchError).

    `fitting` is the number of blocks that fit in this machine's memory.
    """
    most = min(MOST_LANES // threads, fitting)
    if blocks > most:
        raise LaunchError(
            f"kernel `{kernel}` synchronises its whole grid, so all of its {blocks} blocks must "
            f"execute together; at most {most} of {threads} threads can"
        )
