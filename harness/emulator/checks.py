"""The checks that need a memory of their own: what was written, what is ordered, who raced.

`LaunchChecks` outlives the chunks of a launch; each chunk has its `BlockChecks`, which its memory
instructions and barriers report to.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from harness.emulator.accesses import Log
from harness.emulator.active import Active, Geometry, Mask
from harness.emulator.cooperative import WORKSPACE
from harness.emulator.global_memory import SLOT_BITS, Allocation, GlobalMemory
from harness.emulator.global_races import GlobalRaces
from harness.emulator.initialised import Initialised
from harness.emulator.meetings import Meetings
from harness.emulator.ordering import Ordering
from harness.emulator.program import Op, Program
from harness.emulator.provenance import ANYWHERE, written_buffers
from harness.emulator.ptx import TYPE_SIZES
from harness.emulator.shared_races import SharedRaces
from harness.emulator.unwritten import Unwritten
from harness.emulator.witness import Witness

Array = NDArray[Any]
Dim3 = tuple[int, int, int]


class LaunchChecks:
    """What is known about a launch."""

    def __init__(
        self, program: Program, grid: Dim3, block: Dim3, memory: GlobalMemory, params: bytes
    ) -> None:
        self.program = program
        self.log = Log()
        self.witness = Witness(program, grid, block, self.log)
        self.memory = GlobalRaces(
            block[0] * block[1] * block[2], grain(program, "global"), self.log, self.witness
        )
        for allocation in written_allocations(program, memory, params):
            self.memory.watch(allocation)
        memory.watch = self.memory
        self.shared_grain = grain(program, "shared")
        self.local_grain = grain(program, "local")


class BlockChecks:
    """What is known about the blocks of a chunk."""

    def __init__(self, launch: LaunchChecks, geometry: Geometry, shared_bytes: int) -> None:
        self.log = launch.log
        self.witness, self.memory = launch.witness, launch.memory
        self.order = Ordering(geometry)
        self.meetings = Meetings(launch.program, geometry)
        self.unwritten = Unwritten(
            launch.program, geometry, launch.witness.line, self.meetings.gone
        )
        self.shared = SharedRaces(
            geometry, shared_bytes, launch.shared_grain, launch.log, self.order, launch.witness,
            self.unwritten,
        )  # fmt: skip
        lanes = geometry.blocks * geometry.threads
        self.local = Initialised(
            lanes, launch.program.local_bytes, launch.local_grain, self.unwritten
        )

    def start(self, first_block: int) -> None:
        """The chunk's next blocks begin."""
        self.log.begin_chunk(first_block)
        self.witness.order = self.order
        self.memory.start(self.order)
        self.order.start(self.log.now)
        self.unwritten.start()
        self.meetings.start()
        self.shared.start()
        self.local.start()

    # --- synchronisation ------------------------------------------------------------------

    def everybody(self) -> None:
        """All threads of all blocks have met at a barrier."""
        self.order.everybody(self.log.now)
        self.meetings.barrier(True)

    def barrier(self, complete: Mask, arrived: Mask, gone: Mask) -> None:
        self.order.barrier(self.log.now, complete, arrived, gone)
        self.meetings.barrier(arrived & complete)

    def sync_warp(self, lanes: Active, site: int, mask: Array) -> None:
        self.order.sync_warp(lanes, site, mask, self.log.now)
        self.meetings.met(lanes, site, mask)

    def fence(self, lanes: Active, wide: bool) -> None:
        self.witness.fence(lanes, wide)


def written_allocations(program: Program, memory: GlobalMemory, params: bytes) -> list[Allocation]:
    """The buffers that a launch may write."""
    names = program.once(written_buffers) | {WORKSPACE}
    if ANYWHERE in names:
        return memory.allocations
    starts = program.param_offsets()
    bases = set()
    for name in names:
        param_name, _, offset = name.rpartition("+")
        if param_name in starts:
            first = starts[param_name] + int(offset)
            bases.add(int.from_bytes(params[first : first + 8], "little") >> SLOT_BITS)
    return [a for a in memory.allocations if a.name in names or a.base >> SLOT_BITS in bases]


def grain(program: Program, space: str) -> int:
    """The narrowest word by which a program accesses a state space: the unit of its checks."""
    sizes = [
        TYPE_SIZES[_word(op)]
        for block in program.blocks
        for op in block.ops
        if op.name in ("ld", "st", "atom") and op.variant[0] in (space, "")
    ]
    return min(sizes, default=4)


def _word(op: Op) -> str:
    return op.result_types[0] if op.name == "ld" else op.source_types[2]
