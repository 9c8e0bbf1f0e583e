"""What is counted: a launch's counters, each with where it comes from, and what an instruction did.

An instruction's own counts follow from those of the basic blocks that it is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.emulator.flops import operations
from harness.emulator.program import Branch, Program, Switch
from harness.emulator.tally import Tally

Provenance = Literal["emulator-exact", "emulator-model", "ptx-level"]
EXACT: Provenance = "emulator-exact"
MODEL: Provenance = "emulator-model"
PTX: Provenance = "ptx-level"


@dataclass(frozen=True)
class Counter:
    """A number with its unit, and how exactly it is what Nsight Compute would read."""

    name: str
    value: int | float
    unit: str
    provenance: Provenance


@dataclass(frozen=True)
class InstructionCount:
    """Counts of one PTX instruction over the launch; `file` and `line` are of the CUDA source.

    branches: warps for which it chose between targets; diverged_warps: those of them whose lanes
    chose differently. Of an atomic: the lanes that executed it, the distinct addresses that they
    hit, summed over warp instructions, and the most lanes of one warp instruction on one address.
    """

    opcode: str
    ptx_line: int
    file: str
    line: int
    warps: int
    threads: int
    threads_predicated_on: int
    global_requests: int
    global_sectors: int
    shared_requests: int
    shared_wavefronts: int
    shared_wavefronts_ideal: int
    branches: int = 0
    diverged_warps: int = 0
    atomic_lanes: int = 0
    atomic_addresses: int = 0
    atomic_most_lanes: int = 0
    flops: int = 0


def instruction_counts(program: Program, tally: Tally) -> tuple[InstructionCount, ...]:
    """The counts of every instruction, from those of the basic blocks."""
    warps, threads = [0] * len(program.sites), [0] * len(program.sites)
    on = [0] * len(program.sites)
    for number, block in enumerate(program.blocks):
        for site in block.sites:
            warps[site] += tally.block_warps[number]
            threads[site] += tally.block_lanes[number]
            on[site] += tally.block_lanes[number]
        if block.guarded_site is not None:
            on[block.guarded_site] += tally.block_lanes[number]
        if isinstance(block.terminator, Branch):
            site = block.terminator.site
            warps[site] += tally.block_warps[number]
            threads[site] += tally.block_lanes[number]
            if not block.terminator.guards:
                on[site] += tally.taken_lanes[number]
    branches, diverged = [0] * len(program.sites), [0] * len(program.sites)
    for number, site in program.once(_choices):
        branches[site] += tally.block_warps[number]
        diverged[site] += tally.diverged_warps[number]
    per_thread = program.once(_operations)
    return tuple(
        InstructionCount(
            each.opcode, each.ptx_line, each.location.file if each.location else "",
            each.location.line if each.location else 0, warps[i], threads[i], on[i],
            tally.requests[i], tally.sectors[i], tally.shared_requests[i], tally.wavefronts[i],
            tally.wavefronts_ideal[i], branches[i], diverged[i], tally.atomic_lanes[i],
            tally.atomic_addresses[i], tally.atomic_most_lanes[i], per_thread[i] * on[i],
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
    """Floating-point operations that each instruction is for a thread."""
    return [operations(each.opcode) for each in program.sites]
