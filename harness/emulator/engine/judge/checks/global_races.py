"""Races in global memory within a launch: between blocks, and between threads of a block.

Nothing orders two blocks but atomics with fences (`release_acquire`), in whatever order they run
here. As in shared memory, each word has the stamps of its last write and of two reads, by different
blocks where there are such. Only buffers that the kernel may write are watched (`written_buffers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.checks.log import (
    EVENT_SHIFT,
    KIND_MASK,
    KIND_SHIFT,
    LANE_MASK,
    SILENT,
    Log,
    of_block_scope,
    tolerated,
)
from harness.emulator.engine.judge.checks.ordering import Ordering
from harness.emulator.engine.judge.checks.race_report import RaceReport
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Active
from harness.emulator.memory.address_space import Allocation
from harness.emulator.program.access_kinds import ATOMIC, BLOCK_ATOMIC, PLAIN

Array = NDArray[Any]


@dataclass
class _Stamps:
    """Of one buffer; 0 is never. Pages that nothing touches cost no memory."""

    words: int
    written: Array | None = None
    read: Array | None = None
    read_too: Array | None = None

    def new(self) -> Array:
        return np.zeros(self.words, np.int64)


class GlobalRaces:
    """Stamps of the buffers of a launch, in units of `grain` bytes."""

    def __init__(self, threads: int, grain: int, log: Log, race_report: RaceReport) -> None:
        self.threads = threads
        self.grain = grain
        self.log, self.race_report = log, race_report
        self._stamps: dict[int, _Stamps] = {}
        self.order: Ordering
        self._first_stamp = 0

    def watch(self, allocation: Allocation) -> None:
        """A buffer that may be written."""
        self._stamps[allocation.base] = _Stamps(allocation.size // self.grain + 1)

    def start(self, order: Ordering) -> None:
        """The next chunk begins."""
        self.order = order
        self._first_stamp = self.log.now << EVENT_SHIFT

    # --- accesses -------------------------------------------------------------------------

    def read(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        stamps = self._stamps.get(allocation.base)
        if stamps is None:
            return
        index, stamp = self._begin(lanes, site, allocation, addresses)
        for i in range(max(1, width // self.grain)):
            cells = _plus(index, i)
            if stamps.written is not None:
                self._check("read after write", lanes, site, allocation, addresses, width,
                            stamps.written[cells], stamp)  # fmt: skip
            self._note_read(stamps, cells, stamp)

    def write(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array,
        values: tuple[Array, ...],
    ) -> None:  # fmt: skip
        """A store that is about to happen."""
        stamps = self._stamps.get(allocation.base)
        if stamps is None:
            return
        index, stamp = self._begin(lanes, site, allocation, addresses)
        width = values[0].dtype.itemsize * len(values)
        if stamps.written is None:
            stamps.written = stamps.new()
        unchanged = _unchanged(lanes, allocation, addresses, values)
        for i in range(max(1, width // self.grain)):
            cells = _plus(index, i)
            before = stamps.written[cells]
            silent = unchanged & ((before == 0) | (before & SILENT != 0))
            stamp = np.where(silent, stamp | SILENT, stamp & ~SILENT)
            self._check("write after write", lanes, site, allocation, addresses, width,
                        before, stamp, unchanged)  # fmt: skip
            self._after_reads(stamps, cells, lanes, site, allocation, addresses, width, stamp,
                              unchanged)  # fmt: skip
            stamps.written[cells] = stamp
            if not isinstance(cells, slice):
                winner = stamps.written[cells]
                if (winner != stamp).any():
                    self._at_once(lanes, site, allocation, addresses, values, winner)

    def update(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array, width: int
    ) -> None:
        """An atomic."""
        stamps = self._stamps.get(allocation.base)
        if stamps is None:
            return
        index, stamp = self._begin(lanes, site, allocation, addresses)
        narrow = self.race_report.kinds[site] == BLOCK_ATOMIC
        if stamps.written is None:
            stamps.written = stamps.new()
        for i in range(max(1, width // self.grain)):
            cells = _plus(index, i)
            written = stamps.written[cells]
            if narrow or (written & KIND_MASK != ATOMIC << KIND_SHIFT).any():
                self._check("atomic after write", lanes, site, allocation, addresses, width,
                            written, stamp)  # fmt: skip
            self._after_reads(stamps, cells, lanes, site, allocation, addresses, width, stamp)
            stamps.written[cells] = stamp
            if narrow and not isinstance(cells, slice):
                winner = stamps.written[cells]
                others = np.where(self._of_other_blocks(winner, stamp), winner, 0)
                self._check("atomic after atomic", lanes, site, allocation, addresses, width,
                            others, stamp)  # fmt: skip

    # --- stamps ---------------------------------------------------------------------------

    def _begin(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array
    ) -> tuple[Any, Array]:
        index: Any = (lanes.full(addresses) - allocation.base) // self.grain
        count = len(index)
        step = int(index[1] - index[0]) if count > 1 else 1
        if step > 0 and (
            count < 3
            or (
                int(index[-1] - index[0]) == step * (count - 1)
                and bool((index[1:] - index[:-1] == step).all())
            )
        ):
            index = slice(int(index[0]), int(index[-1]) + 1, step)
        kind = self.race_report.kinds[site]
        head = self.log.add(site) << EVENT_SHIFT | kind << KIND_SHIFT
        if kind != PLAIN:
            self.race_report.meet(lanes, site, lanes.full(addresses))
        return index, lanes.lanes() + head

    def _note_read(self, stamps: _Stamps, cells: Any, stamp: Array) -> None:
        if stamps.read is None or stamps.read_too is None:
            stamps.read, stamps.read_too = stamps.new(), stamps.new()
        latest = stamps.read[cells]
        replaced = (latest != 0) & self._of_others(latest, stamp)
        if replaced.any():
            too = stamps.read_too[cells]
            keep = (too != 0) & self._of_other_blocks(too, stamp)
            keep &= ~self._of_other_blocks(latest, stamp)
            stamps.read_too[cells] = np.where(replaced & ~keep, latest, too)
        stamps.read[cells] = stamp
        if isinstance(cells, slice):
            return
        winner = stamps.read[cells]
        lost = winner != stamp
        if lost.any():
            elsewhere = lost & self._of_other_blocks(winner, stamp)
            at = np.flatnonzero(elsewhere if elsewhere.any() else lost)
            stamps.read_too[cells[at]] = stamp[at]

    def _of_others(self, before: Array, stamp: Array) -> Array:
        """Whether stamps are another thread's."""
        found: Array = ((before ^ stamp) & LANE_MASK != 0) | (before < self._first_stamp)
        return found

    def _of_other_blocks(self, before: Array, stamp: Array) -> Array:
        block, own = (before & LANE_MASK) // self.threads, (stamp & LANE_MASK) // self.threads
        found: Array = (block != own) | (before < self._first_stamp)
        return found

    def _after_reads(
        self, stamps: _Stamps, cells: Any, lanes: Active, site: int, allocation: Allocation,
        addresses: Array, width: int, stamp: Array, unchanged: Array | None = None,
    ) -> None:  # fmt: skip
        for seen in (stamps.read, stamps.read_too):
            if seen is not None:
                self._check("write after read", lanes, site, allocation, addresses, width,
                            seen[cells], stamp, unchanged)  # fmt: skip

    # --- verdicts -------------------------------------------------------------------------

    def _check(
        self, hazard: str, lanes: Active, site: int, allocation: Allocation, addresses: Array,
        width: int, before: Array, stamp: Array, unchanged: Array | None = None,
    ) -> None:  # fmt: skip
        """Accuse the first lane that another thread's access is not ordered before.

        `unchanged`: lanes that write what is there already.
        """
        doubtful = (before != 0) & self._of_others(before, stamp)
        if not doubtful.any():
            return
        at = np.flatnonzero(doubtful)
        before, own = before[at], stamp[at] & LANE_MASK
        lane, when = before & LANE_MASK, before >> EVENT_SHIFT
        row, earlier = np.divmod(lane, self.threads)
        own_row, later = np.divmod(own, self.threads)
        inside = (row == own_row) & (before >= self._first_stamp)
        guilty = ~(inside & self.order.ordered(own_row, earlier, when, later))
        same_warp = inside & (earlier // WARP == later // WARP)
        kind = self.race_report.kinds[site]
        guilty &= ~tolerated(before, kind, same_warp, inside)
        for i in np.flatnonzero(guilty).tolist():
            within = bool(inside[i])
            position, time = int(at[i]), int(when[i])
            block = self.log.first_block(time) + int(row[i])
            own_block = self.log.first_block(self.log.now - 1) + int(own_row[i])
            if self.race_report.handed_over(block, int(earlier[i]), time, own_block, int(later[i])):
                continue
            silent = hazard == "read after write" and bool(before[i] & SILENT)
            if silent or (unchanged is not None and unchanged[position]):
                if hazard != "write after write":
                    self.race_report.let_pass(site, self.log.site(time), hazard)
                continue
            whom = "" if within else f"block {self.race_report.block_index(block)}, "
            offset = int(lanes.full(addresses)[position]) - allocation.base
            message = (
                f"{hazard}: {width} bytes at offset {offset} of {allocation.name}; {whom}"
                f"{self.race_report.other(int(earlier[i]), self.log.site(time), hazard)}, "
                + ("with no barrier in between" if within else "and nothing orders the two blocks")
            )
            if not within and of_block_scope(int(before[i]), kind):
                message += ": what is atomic for a block alone is not so between blocks"
            raise KernelFault("race", message, site, lanes, position)

    def _at_once(
        self, lanes: Active, site: int, allocation: Allocation, addresses: Array,
        values: tuple[Array, ...], winner: Array,
    ) -> None:  # fmt: skip
        """Lanes that write different values to one word in one instruction."""
        numbers = lanes.lanes()
        last = np.searchsorted(numbers, winner & LANE_MASK)
        for value in values:
            bits = lanes.full(value.view(f"u{value.dtype.itemsize}"))
            wrong = bits != bits[last]
            if wrong.any():
                position = int(np.argmax(wrong))
                row, thread = divmod(int(numbers[last[position]]), self.threads)
                whom = ""
                if row != int(numbers[position]) // self.threads:
                    block = self.log.first_block(self.log.now - 1) + row
                    whom = f"block {self.race_report.block_index(block)}, "
                message = (
                    f"write after write: {value.dtype.itemsize * len(values)} bytes at offset "
                    f"{int(lanes.full(addresses)[position]) - allocation.base} of "
                    f"{allocation.name}; {whom}"
                    f"{self.race_report.other(thread, site, 'write after write')} at the same time "
                    "with another value"
                )
                raise KernelFault("race", message, site, lanes, position)


def _unchanged(
    lanes: Active, allocation: Allocation, addresses: Array, values: tuple[Array, ...]
) -> Array:
    """Whether a lane writes what is there already."""
    size = values[0].dtype.itemsize
    words = allocation.view(np.dtype(f"u{size}"))
    index = (lanes.full(addresses) - allocation.base) // size
    same = np.ones(lanes.count, np.bool_)
    for i, value in enumerate(values):
        same &= words[index + i] == lanes.full(value.view(f"u{size}"))
    return same


def _plus(index: Any, words: int) -> Any:
    if isinstance(index, slice):
        return slice(index.start + words, index.stop + words, index.step)
    return index + words if words else index
