"""Counts kept while a launch runs: per instruction for memory, per block for everything else.

An instruction's own counts follow from those of its basic block, so the table per source line is
had without counting each instruction when it executes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.emulator.results.remarks import Remark


@dataclass
class RawCounts:
    """Counts of one launch. Lists are indexed by site or by basic block."""

    requests: list[int]
    sectors: list[int]
    colliding: set[int]
    """Atomics of lanes on the same address, which are served in rounds."""
    shared_requests: list[int]
    wavefronts: list[int]
    wavefronts_ideal: list[int]
    atomic_lanes: list[int]
    atomic_addresses: list[int]
    """Distinct ones, summed over warps."""
    atomic_most_lanes: list[int]
    """Of one warp on one address."""
    block_warps: list[int]
    block_lanes: list[int]
    taken_lanes: list[int]
    diverged_warps: list[int]
    """Whose lanes left in several directions."""
    printed: list[tuple[int, str]] = field(default_factory=list)
    """Block number, and what one thread printed."""
    remarks: list[Remark] = field(default_factory=list)
