"""Counts kept while a launch runs: per instruction for memory, per block for everything else.

An instruction's own counts follow from those of its basic block, so the table per source line is
had without counting each instruction when it executes.
"""

from __future__ import annotations

from harness.emulator.results.remarks import Remark


class RawCounts:
    """Counts of one launch. Lists are indexed by site or by basic block."""

    def __init__(self, sites: int, blocks: int) -> None:
        self.requests = [0] * sites
        self.sectors = [0] * sites
        self.colliding: set[int] = set()  # atomics of lanes on the same address, served in rounds
        self.shared_requests = [0] * sites
        self.wavefronts = [0] * sites
        self.wavefronts_ideal = [0] * sites
        self.atomic_lanes = [0] * sites
        self.atomic_addresses = [0] * sites  # distinct ones, summed over warps
        self.atomic_most_lanes = [0] * sites  # of one warp on one address
        self.block_warps = [0] * blocks
        self.block_lanes = [0] * blocks
        self.taken_lanes = [0] * blocks
        self.diverged_warps = [0] * blocks  # whose lanes left in several directions
        self.printed: list[tuple[int, str]] = []  # block number, and what one thread printed
        self.remarks: list[Remark] = []
