"""Counts kept while a launch runs: per instruction for memory, per block for everything else.

An instruction's other counts follow from those of its basic block, so the table per source line
needs no counting at each executed instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from harness.emulator.engine import layout
from harness.emulator.program.ir import Program

_APART = 16  # words between what two jobs count, so that they share no cache line


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
    """The number of distinct addresses, summed over warps."""
    atomic_most_lanes: list[int]
    """The most lanes of one warp on one address."""
    mixed: list[int]
    """Requests whose lanes go to several memories."""
    block_warps: list[int]
    block_lanes: list[int]
    taken_lanes: list[int]
    diverged_warps: list[int]
    """Warps whose lanes left in several directions."""


class JobCounts:
    """The counts of each job of a launch; summed on demand."""

    def __init__(self, program: Program, jobs: int) -> None:
        self._places = program.once(_places)
        self.apart = program.once(_size) + _APART
        self._held = np.zeros(jobs * self.apart, np.int64)
        self.address = layout.ffi.from_buffer("i64[]", self._held)

    @cached_property
    def summed(self) -> RawCounts:
        """Combine the jobs' counts: sums, or maxima."""
        by_job = self._held.reshape(-1, self.apart)
        totals, most = by_job.sum(0).tolist(), by_job.max(0).tolist()
        counts = {name: totals[at] for name, at in self._places.items()}
        counts["atomic_most_lanes"] = most[self._places["atomic_most_lanes"]]
        colliding = enumerate(most[self._places["colliding"]])
        counts["colliding"] = {site for site, collides in colliding if collides}
        return RawCounts(**counts)


def _places(program: Program) -> dict[str, slice]:
    """The range of each kind of count within a job's counts."""
    sizes = dict.fromkeys(layout.BY_SITE, len(program.sites))
    sizes |= dict.fromkeys(layout.BY_BLOCK, len(program.blocks))
    ends = accumulate(sizes.values())
    return {name: slice(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)}


def _size(program: Program) -> int:
    return max(at.stop for at in program.once(_places).values())
