"""Find the loads and atomics that tell a flag from data: what they find steers a thread.

A volatile access orders nothing between threads. It is used for flags all the same: one thread
writes a word, others look at it until they may go on. What such a load finds reaches a comparison,
a branch or an address. A value that only goes to global memory is data. Through memory of the block
or of the thread a value is not followed, so what is stored there counts as steering, too, and so
does what is stored through a pointer that may lead there. `judge/ordering/volatile_words.h` says
what follows from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from harness.emulator.program.access_kinds import PLAIN, access_kind, fences
from harness.emulator.program.ir import Op, Program, Register, terminator_reads
from harness.emulator.program.waiting_loops import flows, reachable

_COMPARES = ("set", "testp", "slct", "vset", "vote", "match", "redux")


def steering_sites(program: Program) -> frozenset[int]:
    """The sites of volatile and atomic accesses whose result steers."""
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
    """Whether what threads do may depend on who comes first: flags, tickets, locks, messages."""
    if steering_sites(program):
        return True
    shared = sum(access_kind(site.opcode) != PLAIN for site in program.sites)
    return shared > 1 and any(fences(program))


def _decides(op: Op) -> Iterator[Register]:
    """The registers by which an operation decides where somebody goes, or may."""
    whole = op.name.startswith(_COMPARES) or (op.name == "st" and op.variant[0] != "global")
    is_access = op.name in ("ld", "st", "atom")
    for n, source in enumerate(op.sources):
        if isinstance(source, Register) and (whole or (is_access and n == 0)):
            yield source
