"""Counts kept while a launch runs: per instruction for memory accesses, else per basic block.

Except for memory accesses, an instruction's counts are derived from the counts of the basic blocks
that contain it, so instructions need no counters of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from harness.emulator.engine import layout
from harness.emulator.program.analysis.flops import operations
from harness.emulator.program.ir import Branch, Program, Switch
from harness.emulator.results.counters import InstructionCount

_APART = 16  # words between the counts of two jobs, so that they share no cache line


@dataclass
class RawCounts:
    """Counts of one launch. Lists are indexed by site (PTX instruction) or by basic block."""

    requests: list[int]
    sectors: list[int]
    colliding: set[int]
    """The sites of atomics in which several lanes of a warp access the same address; such an atomic
    is served in rounds."""
    shared_requests: list[int]
    wavefronts: list[int]
    wavefronts_ideal: list[int]
    atomic_lanes: list[int]
    atomic_addresses: list[int]
    """The number of distinct addresses, summed over warps."""
    atomic_most_lanes: list[int]
    """The largest number of a warp's lanes on one address."""
    mixed: list[int]
    """Requests whose lanes access several state spaces."""
    bulk_copies: list[int]
    bulk_sectors: list[int]
    multicast_requests: list[int]
    bulk_uncertain: list[int]
    """Copies whose sectors are not covered by any known rule."""
    block_warps: list[int]
    block_lanes: list[int]
    taken_lanes: list[int]
    diverged_warps: list[int]
    """Warps whose lanes left the basic block in different directions."""


class JobCounts:
    """The counts of each job of a launch, which are summed on demand."""

    def __init__(self, program: Program, jobs: int) -> None:
        self._places = program.once(_places)
        self.apart = program.once(_size) + _APART
        self._held = np.zeros(jobs * self.apart, np.int64)
        self.address = layout.ffi.from_buffer("i64[]", self._held)

    @cached_property
    def summed(self) -> RawCounts:
        """Combine the jobs' counts: the maximum of `atomic_most_lanes`, the union of `colliding`,
        and the sums of all others."""
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


def executed_lines(program: Program, counts: RawCounts) -> set[int]:
    """The lines of the PTX that some warp executed."""
    found = set[int]()
    for warps, block in zip(counts.block_warps, program.blocks, strict=True):
        if warps:
            found.update(program.sites[site].ptx_line for site in block.sites)
            if isinstance(block.terminator, Branch):
                found.add(program.sites[block.terminator.site].ptx_line)
    return found


def instruction_counts(program: Program, counts: RawCounts) -> tuple[InstructionCount, ...]:
    """The counts of every instruction, derived from the counts of the basic blocks."""
    warps, threads = [0] * len(program.sites), [0] * len(program.sites)
    on = [0] * len(program.sites)
    for number, block in enumerate(program.blocks):
        for site in block.sites:
            warps[site] += counts.block_warps[number]
            threads[site] += counts.block_lanes[number]
            on[site] += counts.block_lanes[number]
        if block.guarded_site is not None:
            on[block.guarded_site] += counts.block_lanes[number]
        if isinstance(block.terminator, Branch):
            site = block.terminator.site
            warps[site] += counts.block_warps[number]
            threads[site] += counts.block_lanes[number]
            if not block.terminator.guards:
                on[site] += counts.taken_lanes[number]
    branches, diverged = [0] * len(program.sites), [0] * len(program.sites)
    for number, site in program.once(_choices):
        branches[site] += counts.block_warps[number]
        diverged[site] += counts.diverged_warps[number]
    per_thread = program.once(_operations)
    return tuple(
        InstructionCount(
            opcode=each.opcode, ptx_line=each.ptx_line,
            file=each.location.file if each.location else "",
            line=each.location.line if each.location else 0,
            warps=warps[i], threads=threads[i], threads_predicated_on=on[i],
            global_requests=counts.requests[i], global_sectors=counts.sectors[i],
            shared_requests=counts.shared_requests[i], shared_wavefronts=counts.wavefronts[i],
            shared_wavefronts_ideal=counts.wavefronts_ideal[i],
            branches=branches[i], diverged_warps=diverged[i],
            atomic_lanes=counts.atomic_lanes[i], atomic_addresses=counts.atomic_addresses[i],
            atomic_most_lanes=counts.atomic_most_lanes[i], flops=per_thread[i] * on[i],
            mixed_requests=counts.mixed[i], bulk_copies=counts.bulk_copies[i],
            bulk_sectors=counts.bulk_sectors[i], multicast_requests=counts.multicast_requests[i],
            bulk_uncertain=counts.bulk_uncertain[i],
        )
        for i, each in enumerate(program.sites)
    )  # fmt: skip


def _choices(program: Program) -> list[tuple[int, int]]:
    """(basic block, site) of the branches whose lanes may diverge, guards excluded."""
    return [
        (number, block.terminator.site)
        for number, block in enumerate(program.blocks)
        if isinstance(block.terminator, Switch)
        or (isinstance(block.terminator, Branch) and not block.terminator.guards)
    ]


def _operations(program: Program) -> list[int]:
    """Floating-point operations of each instruction, per thread."""
    return [operations(each.opcode) for each in program.sites]
