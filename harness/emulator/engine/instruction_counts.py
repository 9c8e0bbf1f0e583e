"""A launch's counters, each with its provenance, and the counts of each instruction.

An instruction's own counts follow from those of the basic blocks that contain it.
"""

from __future__ import annotations

from harness.emulator.engine.raw_counts import RawCounts
from harness.emulator.program.flops import operations
from harness.emulator.program.ir import Branch, Program, Switch
from harness.emulator.results.counters import InstructionCount


def instruction_counts(program: Program, counts: RawCounts) -> tuple[InstructionCount, ...]:
    """The counts of every instruction, from those of the basic blocks."""
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
            mixed_requests=counts.mixed[i],
        )
        for i, each in enumerate(program.sites)
    )  # fmt: skip


def _choices(program: Program) -> list[tuple[int, int]]:
    """(basic block, site) of the branches whose lanes may go different ways; no guards."""
    return [
        (number, block.terminator.site)
        for number, block in enumerate(program.blocks)
        if isinstance(block.terminator, Switch)
        or (isinstance(block.terminator, Branch) and not block.terminator.guards)
    ]


def _operations(program: Program) -> list[int]:
    """The floating-point operations of each instruction, per thread."""
    return [operations(each.opcode) for each in program.sites]
