"""Who else: names of the other access in a race, and what excuses one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.faults import index_of
from harness.emulator.engine.judge.checks.log import Log
from harness.emulator.engine.judge.checks.ordering import Ordering
from harness.emulator.engine.judge.checks.release_acquire import ReleaseAcquire
from harness.emulator.engine.judge.lanes import Active
from harness.emulator.program.access_kinds import ATOMIC, BLOCK_ATOMIC, access_kinds, fences
from harness.emulator.program.ir import Program
from harness.emulator.program.speculative_loads import SpeculativeLoads
from harness.emulator.results.remarks import Remark

Array = NDArray[Any]
Dim3 = tuple[int, int, int]


class RaceReport:
    """Knows a program's source lines, a launch's numbers of blocks and threads, its locks."""

    def __init__(self, program: Program, grid: Dim3, block: Dim3, log: Log) -> None:
        self.program = program
        self.grid, self.block = grid, block
        self.log = log
        self.kinds = program.once(access_kinds)
        self.kinds_in_block = [ATOMIC if k == BLOCK_ATOMIC else k for k in self.kinds]
        self._is_fence = program.once(fences)
        self._reads = {op.site for b in program.blocks for op in b.ops if op.name == "ld"}
        self._writes = {op.site for b in program.blocks for op in b.ops if op.name == "st"}
        self.speculative_loads = program.once(SpeculativeLoads)
        self._handover = ReleaseAcquire()
        self._fenced = False
        self._let_pass: dict[tuple[int, int], int] = {}
        self.order: Ordering

    # --- names ----------------------------------------------------------------------------

    def block_index(self, number: int) -> Dim3:
        return index_of(number, self.grid)

    def other(self, thread: int, event_site: int, hazard: str) -> str:
        """The other access as part of a sentence."""
        verb = "read" if hazard.endswith("read") else "wrote"
        return f"thread {index_of(thread, self.block)} {verb} it in line {self.line(event_site)}"

    def line(self, site: int) -> str:
        where = self.program.sites[site]
        return str(where.location.line) if where.location else f"? (PTX line {where.ptx_line})"

    def let_pass(self, site: int, earlier: int, hazard: str) -> None:
        """A read and a write of a word that nothing orders, but the write changes nothing."""
        write, read = (earlier, site) if hazard == "read after write" else (site, earlier)
        self._let_pass[write, read] = self._let_pass.get((write, read), 0) + 1

    @property
    def remarks(self) -> list[Remark]:
        return [self._remark(*sites, count) for sites, count in sorted(self._let_pass.items())]

    def _remark(self, write: int, read: int, count: int) -> Remark:
        location = self.program.sites[write].location
        file, line = (location.file, location.line) if location else ("", 0)
        message = (
            f"a write that changes nothing, and a read of the same word in line {self.line(read)} "
            "that nothing orders with it"
        )
        return Remark(message, file, line, count)

    def speculative(self, site: int, earlier: int, hazard: str) -> bool:
        """Whether the read of a hazard is one that the source does not do."""
        if hazard == "read after write":
            return self.speculative_loads.speculative(site)
        return hazard == "write after read" and self.speculative_loads.speculative(earlier)

    # --- locks and flags ------------------------------------------------------------------

    def fence(self, lanes: Active, wide: bool) -> None:
        self._fenced = True
        self.order.fence(lanes, wide, self.log.now)

    def meet(self, lanes: Active, site: int, words: Array) -> None:
        """An atomic or volatile access, just logged; `words` name what each lane accesses."""
        is_fence = self._is_fence[site]
        if not (self._fenced or is_fence):
            return
        now = self.log.now - 1
        first = self.log.first_block(now)
        threads = self.order.geometry.threads
        fences = lanes.full(lanes.get(self.order.fenced))
        wide_fences = lanes.full(lanes.get(self.order.fenced_wide))
        is_wide = ".cta" not in self.program.sites[site].opcode
        for_all = self.kinds[site] != BLOCK_ATOMIC
        rows, numbers = np.divmod(lanes.lanes(), threads)
        publishes = (fences >= 0) | is_fence if site not in self._reads else None
        acquires = site not in self._writes
        for i in range(lanes.count):
            word, block, thread = int(words[i]), first + int(rows[i]), int(numbers[i])
            if publishes is not None and publishes[i]:
                fence = now if is_fence else int(fences[i])
                wide = (now if is_fence and is_wide else int(wide_fences[i])) if for_all else -1
                self._handover.publish(word, block, (thread, fence, wide, now))
            if acquires:
                self._handover.acquire(word, block, thread, now, wide=for_all)

    def handed_over(self, block: int, thread: int, when: int, later: int, by: int) -> bool:
        """Whether an access of one thread at a time is ordered before one of another now."""
        if not self._handover.used:
            return False
        if block == later:
            return self._handover.within_block(block, thread, when, by)
        return self._handover.between_blocks(block, when, later)
