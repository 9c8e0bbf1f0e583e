"""What the threads of a block know of each other's accesses: barriers, `__syncwarp`, fences.

Times are numbers of the access log. A barrier of the whole block orders everything before it, so
one number per block is enough. What synchronises a whole warp needs one number per warp. Barriers
of some warps and synchronisation of some lanes are kept as tables of who knows whom up to when,
and only from the first time that one occurs. As long as all blocks do the same, one row serves all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import ALL, WARP, Active, Geometry, Mask

Array = NDArray[Any]
_BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
_ALL_LANES = 0xFFFFFFFF
_COMPLETE_WARPS = (-1, b"")


class Ordering:
    """Kept for the blocks of a chunk."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        sizes = np.full(geometry.warps, WARP)
        sizes[-1] = geometry.threads - WARP * (geometry.warps - 1)
        self._lanes_of = sizes
        self.start(0)

    def start(self, now: int) -> None:
        """New blocks: whatever is in the log is not theirs."""
        self.block = np.full((1, 1), now, np.int64)
        self.warp = np.full((1, self.geometry.warps), now, np.int64)
        self.fenced = np.full((1, 1), -1, np.int64)
        self.fenced_wide = self.fenced
        self._warps: Array | None = None  # (rows, later warp, earlier warp)
        self._lanes: Array | None = None  # (rows, warp, later lane, earlier lane)

    def floor(self, rows: Array | None) -> Any:
        """The number below which everything is ordered, per row; a plain number if all agree."""
        if self.block.shape[0] == 1 or rows is None:
            return int(self.block[0, 0])
        return self.block[rows, 0]

    def ordered(self, rows: Array, earlier: Array, when: Array, later: Array) -> Mask:
        """Whether an access by thread `earlier` is ordered before what `later` does now."""
        known = self.block[rows % self.block.shape[0], 0]
        old, new = earlier // WARP, later // WARP
        within = old == new
        of_warp = self.warp[rows % self.warp.shape[0], new]
        if self._lanes is not None:
            table = self._lanes[rows % self._lanes.shape[0], new, later % WARP, earlier % WARP]
            of_warp = np.maximum(of_warp, table)
        known = np.maximum(known, np.where(within, of_warp, -1))
        if self._warps is not None:
            table = self._warps[rows % self._warps.shape[0], new, old]
            known = np.maximum(known, np.where(within, -1, table))
        result: Mask = when < known
        return result

    # --- barriers -------------------------------------------------------------------------

    def everybody(self, now: int) -> None:
        """All threads of all blocks have met at a barrier."""
        if self.in_step:
            self.block[0, 0] = now
        else:
            fences = self.fenced, self.fenced_wide
            self.start(now)
            self.fenced, self.fenced_wide = fences

    @property
    def in_step(self) -> bool:
        """Whether what is known is the same in all blocks."""
        return (
            self.block.shape[0] == 1
            and self.warp.shape[0] == 1
            and self._warps is None
            and (self._lanes is None or self._lanes.shape[0] == 1)
        )

    def barrier(self, now: int, complete: Mask, arrived: Mask, gone: Mask) -> None:
        """The threads `arrived` of the rows `complete` are released by a barrier."""
        whole = (arrived | gone).all(axis=1, keepdims=True)
        if (complete & whole | gone.all(axis=1, keepdims=True)).all():
            self.everybody(now)
            return
        rows = np.flatnonzero(complete & whole)
        if len(rows):
            if self.block.shape[0] == 1:
                self.block = np.repeat(self.block, self.geometry.blocks, axis=0)
            self.block[rows] = now
        for row in np.flatnonzero(complete & ~whole).tolist():
            self._some_warps(now, row, np.unique(np.flatnonzero(arrived[row]) // WARP))

    def _some_warps(self, now: int, row: int, warps: Array) -> None:
        self._expand_warp()
        self.warp[row, warps] = now
        count = self.geometry.warps
        if self._warps is None:
            self._warps = np.full((self.geometry.blocks, count, count), -1, np.int64)
        table = self._warps[row]
        joined = table[warps].max(axis=0)
        joined[warps] = now
        table[warps] = np.maximum(table[warps], joined)

    def _expand_warp(self) -> None:
        if self.warp.shape[0] == 1:
            self.warp = np.repeat(self.warp, self.geometry.blocks, axis=0)

    # --- warps ----------------------------------------------------------------------------

    def fence(self, lanes: Active, wide: bool, now: int) -> None:
        """A fence of the block, or, if it is `wide`, of the device."""
        time = np.full((1, 1), now, np.int64)
        self.fenced = lanes.put(self.fenced, time)
        if wide:
            self.fenced_wide = lanes.put(self.fenced_wide, time)

    def sync_warp(self, lanes: Active, site: int, mask: Array, now: int) -> None:
        """Lanes that execute the same warp-wide instruction and are named in its mask.

        Raises KernelFault if a lane executes it that its mask does not name.
        """
        everybody = mask.size == 1 and int(mask[0, 0]) == _ALL_LANES
        if everybody and lanes.whole:
            self.warp.fill(now)
            return
        if everybody and lanes.flat is None:
            warps = self._complete_warps(lanes)
            if warps is not None:
                if lanes.rows is not ALL:
                    self._expand_warp()
                    rows = np.arange(self.geometry.blocks)[lanes.rows]
                    self.warp[rows[:, None], warps] = now
                else:
                    self.warp[:, warps] = now
                return
        if not everybody:
            _check_named(lanes, site, mask)
        self._some_lanes(lanes, mask, now)

    def _complete_warps(self, lanes: Active) -> Array | None:
        """The warps of a selection if all their threads are in it, else None."""
        if _COMPLETE_WARPS not in lanes.patterns:
            threads = np.arange(self.geometry.threads)[lanes.columns]
            warps, counts = np.unique(threads // WARP, return_counts=True)
            complete = np.array_equal(counts, self._lanes_of[warps])
            lanes.patterns[_COMPLETE_WARPS] = warps if complete else None
        found: Array | None = lanes.patterns[_COMPLETE_WARPS]
        return found

    def _some_lanes(self, lanes: Active, mask: Array, now: int) -> None:
        geometry = self.geometry
        in_step = lanes.flat is None and lanes.rows is ALL and mask.shape[0] == 1
        rows = 1 if in_step else geometry.blocks
        flat = np.zeros((rows, geometry.warps * WARP), np.bool_)
        if in_step:
            threads = np.arange(geometry.threads)[lanes.columns]
            named = np.broadcast_to(mask, (1, len(threads)))[0] & _BIT[threads % WARP]
            flat[0, threads] = named != 0
        else:
            row, thread = np.divmod(lanes.lanes(), geometry.threads)
            flat[row, thread] = (lanes.full(mask) & _BIT[thread % WARP]) != 0
        who = flat.reshape(rows, geometry.warps, WARP)
        complete = who.sum(axis=2) == self._lanes_of
        if not in_step:
            self._expand_warp()
        self.warp = np.where(complete, now, self.warp)
        partly = who.any(axis=2) & ~complete
        if not partly.any():
            return
        if self._lanes is None:
            self._lanes = np.full((rows, geometry.warps, WARP, WARP), -1, np.int64)
        elif self._lanes.shape[0] < rows:
            self._lanes = np.repeat(self._lanes, rows, axis=0)
        if self._lanes.shape[0] > rows:
            partly = np.repeat(partly, self._lanes.shape[0], axis=0)
            who = np.repeat(who, self._lanes.shape[0], axis=0)
        table, met = self._lanes[partly], who[partly]
        joined = np.where(met[:, :, None], table, -1).max(axis=1)
        joined = np.where(met, now, joined)
        self._lanes[partly] = np.where(
            met[:, :, None], np.maximum(table, joined[:, None, :]), table
        )


def _check_named(lanes: Active, site: int, mask: Array) -> None:
    lane = lanes.lanes() % lanes.geometry.threads % WARP
    masks = lanes.full(mask)
    named = (masks & _BIT[lane]) != 0
    if not named.all():
        position = int(np.argmin(named))
        message = (
            f"lane {int(lane[position])} executes an instruction of its warp whose mask "
            f"0x{int(masks[position]):08x} does not name it"
        )
        raise KernelFault("warp mask", message, site, lanes, position)
