"""The checks that need a memory of their own: what was written, what is ordered, who raced.

`LaunchChecks` outlives the chunks of a launch; each chunk has its `BlockChecks`, which its memory
instructions and barriers report to.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.first_writes import FirstWrites
from harness.emulator.engine.judge.checks.global_races import GlobalRaces
from harness.emulator.engine.judge.checks.local_writes import LocalWrites
from harness.emulator.engine.judge.checks.log import Log
from harness.emulator.engine.judge.checks.ordering import Ordering
from harness.emulator.engine.judge.checks.race_report import RaceReport
from harness.emulator.engine.judge.checks.shared_races import SharedRaces
from harness.emulator.engine.judge.checks.uninitialised import Uninitialised
from harness.emulator.engine.judge.checks.warp_masks import WarpMasks
from harness.emulator.engine.judge.lanes import Active, Geometry, Mask
from harness.emulator.engine.judge.memory.global_memory import GlobalMemory
from harness.emulator.memory.arguments import written_allocations
from harness.emulator.program.access_kinds import grain
from harness.emulator.program.ir import Program

Array = NDArray[Any]
Dim3 = tuple[int, int, int]


class LaunchChecks:
    """What is known about a launch."""

    def __init__(
        self, program: Program, grid: Dim3, block: Dim3, memory: GlobalMemory, params: bytes
    ) -> None:
        self.program = program
        self.log = Log()
        self.race_report = RaceReport(program, grid, block, self.log)
        self.global_memory = memory
        self.memory = GlobalRaces(
            block[0] * block[1] * block[2], grain(program, "global"), self.log, self.race_report
        )
        for allocation in written_allocations(program, memory.space, params):
            self.memory.watch(allocation)
        memory.watch = self.memory
        self.shared_grain = grain(program, "shared")
        self.local_grain = grain(program, "local")


class BlockChecks:
    """What is known about the blocks of a chunk."""

    def __init__(self, launch: LaunchChecks, geometry: Geometry, shared_bytes: int) -> None:
        self.log = launch.log
        self.race_report, self.memory = launch.race_report, launch.memory
        self.global_memory = launch.global_memory
        self.order = Ordering(geometry)
        self.warp_masks = WarpMasks(launch.program, geometry)
        self.uninitialised = Uninitialised(
            launch.program, geometry, launch.race_report.line, self.warp_masks.gone
        )
        self.shared = SharedRaces(
            geometry, shared_bytes, launch.shared_grain, launch.log, self.order, launch.race_report,
            self.uninitialised,
        )  # fmt: skip
        self.first_writes = FirstWrites(self.uninitialised)
        lanes = geometry.blocks * geometry.threads
        self.local = LocalWrites(
            lanes, launch.program.local_bytes, launch.local_grain, self.uninitialised
        )

    def start(self, first_block: int) -> None:
        """The chunk's next blocks begin."""
        self.log.begin_chunk(first_block)
        self.race_report.order = self.order
        self.memory.start(self.order)
        self.global_memory.first_writes = self.first_writes
        self.order.start(self.log.now)
        self.uninitialised.start()
        self.warp_masks.start()
        self.shared.start()
        self.local.start()

    # --- synchronisation ------------------------------------------------------------------

    def everybody(self) -> None:
        """All threads of all blocks have met at a barrier."""
        self.order.everybody(self.log.now)
        self.warp_masks.barrier(True)

    def barrier(self, complete: Mask, arrived: Mask, gone: Mask) -> None:
        self.order.barrier(self.log.now, complete, arrived, gone)
        self.warp_masks.barrier(arrived & complete)

    def sync_warp(self, lanes: Active, site: int, mask: Array) -> None:
        self.order.sync_warp(lanes, site, mask, self.log.now)
        self.warp_masks.met(lanes, site, mask)

    def fence(self, lanes: Active, wide: bool) -> None:
        self.race_report.fence(lanes, wide)
