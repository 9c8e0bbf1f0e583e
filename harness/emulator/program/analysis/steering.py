"""Find the loads and atomics that read flags rather than data: their results affect what a thread
does next.

A volatile access orders nothing between threads. Programs still use volatile accesses for flags:
one thread writes a word, and others poll it until they may continue. The result of such a load
reaches a comparison, a branch or an address. A value that is only stored to global memory is data.
The analysis does not follow values through shared or local memory, so it treats a value as a flag
if it is stored there, or through a pointer that may point there. `judge/ordering/volatile_words.h`
describes the consequences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from harness.emulator.program.analysis.access_kinds import PLAIN, access_kind, fences
from harness.emulator.program.analysis.control_flow import reachable
from harness.emulator.program.analysis.waiting_loops import flows
from harness.emulator.program.ir import Op, Program, Register, terminator_reads

_COMPARES = ("set", "testp", "slct", "vset", "vote", "match", "redux")


def steering_sites(program: Program) -> frozenset[int]:
    """Find the volatile and atomic accesses whose result affects a thread's branches or
    addresses."""
    back: dict[int, set[int]] = defaultdict(set)
    for register, made in flows(program.blocks).items():
        for each in made:
            back[each].add(register)
    steers = {r.slot for block in program.blocks for r in terminator_reads(block.terminator)}
    steers |= {r.slot for block in program.blocks for op in block.ops for r in _decides(op)}
    steers |= reachable(back, steers)
    return frozenset(
        op.site
        for block in program.blocks
        for op in block.ops
        if op.name in ("ld", "atom") and access_kind(program.sites[op.site].opcode) != PLAIN
        if any(r.slot in steers for r in op.registers_written())
    )


def depends_on_order(program: Program) -> bool:
    """Return whether behaviour may depend on thread timing, as it does with flags, tickets, locks
    and messages."""
    if steering_sites(program):
        return True
    shared = sum(access_kind(site.opcode) != PLAIN for site in program.sites)
    return shared > 1 and any(fences(program))


def _decides(op: Op) -> Iterator[Register]:
    """The registers that may determine where control goes after an operation."""
    whole = op.name.startswith(_COMPARES) or (op.name == "st" and op.variant[0] != "global")
    is_access = op.name in ("ld", "st", "atom")
    for n, source in enumerate(op.sources):
        if isinstance(source, Register) and (whole or (is_access and n == 0)):
            yield source
