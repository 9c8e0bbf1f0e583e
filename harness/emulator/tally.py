"""Counts kept while a launch runs: per instruction for memory, per block for everything else.

An instruction's own counts follow from those of its basic block, so the table per source line is
had without counting each instruction when it executes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.active import Active
from harness.silicon import memory_rules

Array = NDArray[Any]


class Tally:
    """Counts of one launch. Lists are indexed by site or by basic block."""

    def __init__(self, sites: int, blocks: int) -> None:
        self.requests = [0] * sites
        self.sectors = [0] * sites
        self.colliding: set[int] = set()  # atomics of lanes on the same address, served in rounds
        self.shared_requests = [0] * sites
        self.wavefronts = [0] * sites
        self.wavefronts_ideal = [0] * sites
        self.block_warps = [0] * blocks
        self.block_lanes = [0] * blocks
        self.taken_lanes = [0] * blocks
        self.budget = 0
        self.printed: list[tuple[int, str]] = []  # block number, and what one thread printed

    def global_access(
        self, lanes: Active, site: int, addresses: Array, width: int, *, atomic: bool = False
    ) -> None:
        """One request a warp, and its sectors."""
        self.requests[site] += lanes.warps
        rows = addresses.shape[0]
        laid_out, active = lanes.to_warps(addresses), lanes.warp_mask(rows)
        if atomic:
            sectors = memory_rules.global_atomic_sectors(laid_out, active)
            at_once = memory_rules.global_sectors(laid_out, active, width)
            if np.any(sectors != at_once):
                self.colliding.add(site)
        else:
            sectors = memory_rules.global_sectors(laid_out, active, width)
        self.sectors[site] += int(sectors.sum()) * (lanes.n_rows // rows)

    def global_contiguous(self, lanes: Active, site: int, starts: Array, width: int) -> None:
        """The same for full warps whose lanes read one after another; `starts` per row.

        A warp reads 32 × width bytes, whole sectors, so all warps of a row straddle alike.
        """
        self.requests[site] += lanes.warps
        size = memory_rules.SECTOR_BYTES
        span = memory_rules.WARP_SIZE * width
        sectors = (starts % size + span - 1) // size + 1
        per_row = lanes.n_columns // memory_rules.WARP_SIZE
        self.sectors[site] += int(sectors.sum()) * per_row * (lanes.n_rows // len(starts))

    def shared_cost(
        self, lanes: Active, addresses: Array, width: int, operation: str
    ) -> tuple[int, int]:
        """Wavefronts and ideal wavefronts of the rows given; `operation` is ld, st or an atomic."""
        laid_out = lanes.to_warps(addresses)
        active = lanes.warp_mask(addresses.shape[0])
        if operation in ("ld", "st"):
            load = operation == "ld"
            cost = memory_rules.shared_wavefronts(laid_out, active, width, is_load=load)
            ideal = memory_rules.shared_wavefronts_ideal(laid_out, active, width, is_load=load)
        else:
            counts_up = operation == "count up"
            cost = memory_rules.shared_atomic_wavefronts(
                laid_out, active, operation, counts_up=counts_up
            )
            ideal = memory_rules.global_requests(active) * (2 if operation == "cas" else 1)
        return int(np.sum(cost)), int(np.sum(ideal))
