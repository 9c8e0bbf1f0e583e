"""Find loops that may wait for another thread, and the registers that show that an iteration
changed nothing.

A loop may wait if it branches on the result of an atomic or volatile load in the loop. Most such
loops do not wait: they retry a compare-and-swap, probe a hash table, or take work from a queue. The
effect of an iteration shows in the registers on which the loop's branches depend, including the
results of its loads and atomics. If these registers have not changed since the last iteration, the
next iteration will be the same again, unless another thread changes memory. A counter on which no
branch depends, such as a back-off counter, is ignored. `judge/ordering/forward_progress.h`
describes how this is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.emulator.program.analysis.access_kinds import PLAIN, access_kind, of_mbarriers
from harness.emulator.program.analysis.control_flow import edges_of, loop_of, reachable
from harness.emulator.program.analysis.warp_syncs import WarpSync, warp_syncs
from harness.emulator.program.ir import Block, Op, Program, Site, Special, terminator_reads


@dataclass(frozen=True)
class WaitingLoops:
    """`heads`: the head blocks of loops that may wait, with the slots to compare.

    `warp_syncs`: the blocks in which lanes of a warp synchronise. If `heads` is empty, these are
    only the blocks whose mask is known when they begin. `clocks`: whether the program reads a
    clock, which may end a wait without the action of another thread. `at_mbarriers`: whether the
    loops wait only at mbarriers.
    """

    heads: Mapping[int, tuple[int, ...]]
    warp_syncs: Mapping[int, WarpSync]
    clocks: bool
    at_mbarriers: bool


def waiting_loops(program: Program) -> WaitingLoops:
    """Find the properties of a program's waiting loops that the scheduler needs."""
    blocks = program.blocks
    heads = {}
    for head, loop in loops_by_head(blocks, program.sites).items():
        changing = {r.slot for n in loop for op in blocks[n].ops for r in op.registers_written()}
        there = blocks[head].live_in & changing | _found(blocks, loop)
        heads[head] = tuple(sorted(_telling(blocks, loop) & there))
    syncs = warp_syncs(blocks, program.sites, with_computed=bool(heads))
    sources = (s for block in blocks for op in block.ops for s in op.sources)
    clocks = any(
        isinstance(s, Special) and s.name.startswith(("clock", "globaltimer")) for s in sources
    )
    at_mbarriers = all(
        of_mbarriers(program.sites[op.site].opcode)
        for head in heads
        for op in blocks[head].ops
        if _may_change(op, program.sites)
    )
    return WaitingLoops(heads, syncs, clocks, at_mbarriers)


def keep_loop_conditions(blocks: Sequence[Block], sites: Sequence[Site]) -> None:
    """Keep the values read by loops that may wait, even those used only within a basic block."""
    for loop in loops_by_head(blocks, sites).values():
        telling = _telling(blocks, loop)
        for number in loop:
            blocks[number].live_out |= telling & _found(blocks, [number])


def loops_by_head(blocks: Sequence[Block], sites: Sequence[Site]) -> dict[int, set[int]]:
    """Find loops that branch on a value that another thread may change; map each block that reads
    such a value to the blocks of its loop."""
    found = {}
    onwards: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        tainted = {
            register.slot
            for op in block.ops
            if _may_change(op, sites)
            for register in op.registers_written()
        }
        if tainted and number in (loop := loop_of(edges_of(blocks), number)):
            onwards = onwards or flows(blocks)
            tainted |= reachable(onwards, tainted)
            if any(r.slot in tainted for n in loop for r in terminator_reads(blocks[n].terminator)):
                found[number] = loop
    return found


def _may_change(op: Op, sites: Sequence[Site]) -> bool:
    """Return whether an operation reads what another thread may change at the same time."""
    return op.name in ("atom", "ld") and access_kind(sites[op.site].opcode) != PLAIN


def flows(blocks: Sequence[Block]) -> dict[int, set[int]]:
    """Map each register to the registers computed from it by a single operation."""
    found: dict[int, set[int]] = defaultdict(set)
    for op in (op for block in blocks for op in block.ops):
        written = {register.slot for register in op.registers_written()}
        for register in op.registers_read():
            found[register.slot] |= written
    return found


def _telling(blocks: Sequence[Block], loop: Iterable[int]) -> set[int]:
    """Registers on which the branches of a loop depend through computations within the loop."""
    computed_from: dict[int, set[int]] = defaultdict(set)
    for op in (op for n in loop for op in blocks[n].ops):
        # The value read depends on the address, not on the value that an atomic stores.
        sources = op.sources[:1] if op.name in ("atom", "ld") else op.sources
        slots = [slot for s in sources if (slot := getattr(s, "slot", None)) is not None]
        for register in op.registers_written():
            computed_from[register.slot].update(slots)
    tested = {r.slot for n in loop for r in terminator_reads(blocks[n].terminator)}
    return tested | reachable(computed_from, tested)


def _found(blocks: Sequence[Block], numbers: Iterable[int]) -> set[int]:
    """The registers that hold values read by the loads and atomics of some blocks."""
    return {
        register.slot
        for n in numbers
        for op in blocks[n].ops
        if op.name in ("atom", "ld")
        for register in op.registers_written()
    }
