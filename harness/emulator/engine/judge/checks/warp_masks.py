"""Masks that name a lane which waits elsewhere: the warp would never get past the instruction.

A shuffle, vote or `__syncwarp` waits for the lanes that its mask names and that have not exited.
Lanes are executed here without waiting for them, as a lane that is missing may still come. One that
reaches a barrier of the block, and has executed no such instruction since the last, has not come:
it waits for the lanes that wait for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Active, Geometry, Mask
from harness.emulator.engine.judge.warp import bits_of, warps_of
from harness.emulator.program.ir import Program

Array = NDArray[Any]
_ALL_LANES = 0xFFFFFFFF


class WarpMasks:
    """Who is missing where, in the warps of a chunk."""

    def __init__(self, program: Program, geometry: Geometry) -> None:
        self._sites = program.sites
        self._geometry = geometry
        self.start()

    def start(self) -> None:
        """New blocks."""
        self.exited: Mask | None = None
        # For each kind of instruction, one entry per warp: lanes named, lanes that came, and where.
        self._met: dict[str, tuple[Array, Array, Array]] = {}

    def met(self, lanes: Active, site: int, mask: Array) -> None:
        """Lanes execute such an instruction."""
        kind = self._sites[site].opcode.split(".")[0]
        known = self._met.get(kind)
        everybody = mask.size == 1 and int(mask[0, 0]) == _ALL_LANES
        if known is None and everybody and lanes.full_warps:
            return
        warps = warps_of(lanes)
        rows = lanes.n_rows
        spread = np.broadcast_to(mask, (rows, lanes.n_columns))
        masks = np.where(lanes.warp_mask(rows), lanes.to_warps(spread), np.uint32(0))
        named = np.bitwise_or.reduce(masks, axis=1)
        if known is None:
            absent = named & ~warps.company & ~self.gone()[warps.index]
            if not absent.any():
                return
            count = self._geometry.blocks * self._geometry.warps
            known = self._met[kind] = (
                np.zeros(count, np.uint32), np.zeros(count, np.uint32), np.zeros(count, np.int32)
            )  # fmt: skip
        known[0][warps.index] |= named
        known[1][warps.index] |= warps.company
        known[2][warps.index] = site

    def gone(self) -> Array:
        """The lanes of each warp that have exited, or never were, as bits."""
        return ~bits_of(self._geometry, True if self.exited is None else ~self.exited)

    def barrier(self, arrived: Mask | bool) -> None:
        """Threads go on together from a barrier. Raises KernelFault for one that was missing."""
        geometry = self._geometry
        for named, came, sites in self._met.values():
            here = bits_of(geometry, arrived)
            late = named & ~came & here
            if late.any():
                warp = int(np.argmax(late != 0))
                lane = int(late[warp]).bit_length() - 1
                row, within = divmod(warp, geometry.warps)
                mask = np.zeros((geometry.blocks, geometry.threads), np.bool_)
                mask[row, within * WARP + lane] = True
                message = (
                    f"the mask of an instruction of a warp names lane {lane}, which is at a "
                    "barrier of the block instead"
                )
                raise KernelFault("warp mask", message, int(sites[warp]), geometry.select(mask), 0)
            named[here != 0] = 0
            came[here != 0] = 0
