"""Compute which registers a block needs and which it must store for later blocks.

A register that dies within its block is never written back. An operation with unused results and no
other effect is never computed (it is still counted). Dead writes cost more in the emulator than in
compiled code, because every write stores a whole row.
"""

from __future__ import annotations

from harness.emulator.program.ir import (
    Barrier,
    Block,
    Constant,
    Op,
    Program,
    Register,
    Switch,
    successors,
    terminator_reads,
)

RUNTIME_EFFECTS = (
    "enter_frame",
    "copy_struct",
    "printf",
    "assertfail",
    "copy_async",
    "copy_commit",
    "copy_wait",
    "copy_hand_over",
    "copy_bulk",
    "discard",
    "copy_tensor",
    "bulk_commit",
    "bulk_wait",
    "factor_read",
    "products_hold",
    "set_registers",
    "mbarrier_count",
    "products_commit",
    "products_wait",
    "tex",
    "suld",
    "sust",
)
EFFECTS = frozenset({
    "st", "atom", "red", "ld", "syncwarp", "fence", "cluster_arrive", "shfl", "vote", "match",
    "redux", "elect", *RUNTIME_EFFECTS,
})  # fmt: skip


def annotate(blocks: list[Block]) -> None:
    """Set `live_in` and `live_out` of every block."""
    uses, kills = [], []
    for block in blocks:
        used: set[int] = set()
        killed: set[int] = set()
        for op in block.ops:
            used.update(r.slot for r in op.registers_read() if r.slot not in killed)
            killed.update(r.slot for r in op.registers_written())
        used.update(r.slot for r in terminator_reads(block.terminator) if r.slot not in killed)
        uses.append(used)
        kills.append(killed)
    live_in = [set(u) for u in uses]
    live_out: list[set[int]] = [set() for _ in blocks]
    changed = True
    while changed:
        changed = False
        for i in range(len(blocks) - 1, -1, -1):
            terminator = blocks[i].terminator
            out: set[int] = set()
            for target in successors(terminator):
                out |= live_in[target]
            if isinstance(terminator, Switch) and terminator.pointer is not None:
                out.add(terminator.pointer.slot)  # for the message if the pointer is invalid
            if isinstance(terminator, Barrier):
                # The result is written when the barrier releases, to this block's own lanes.
                if terminator.result is not None:
                    out.add(terminator.result.slot)
                if terminator.predicate is not None:
                    out.add(terminator.predicate.slot)
            entering = uses[i] | (out - kills[i])
            if out != live_out[i] or entering != live_in[i]:
                live_out[i], live_in[i] = out, entering
                changed = True
    for block, entering, out in zip(blocks, live_in, live_out, strict=True):
        block.live_in, block.live_out = frozenset(entering), frozenset(out)


def needed_ops(block: Block) -> list[tuple[Op, frozenset[int]]]:
    """The operations that must be computed, each with the result slots that are read later."""
    live = set(block.live_out) | {r.slot for r in terminator_reads(block.terminator)}
    out: list[tuple[Op, frozenset[int]]] = []
    for op in reversed(block.ops):
        written = {r.slot for r in op.registers_written()}
        wanted = written & live
        if wanted or op.name in EFFECTS:
            out.append((op, frozenset(wanted)))
            live -= written
            live |= {r.slot for r in op.registers_read()}
    out.reverse()
    return out


def unwritten_registers(program: Program) -> tuple[Register, ...]:
    """The registers of the source program that a thread may read before they are written."""
    found = (program.registers[slot] for slot in sorted(program.blocks[0].live_in))
    return tuple(register for register in found if not register.name.startswith("!"))


def always_one(program: Program) -> frozenset[int]:
    """Registers that are written once, with the constant 1."""
    writes: dict[int, list[Op]] = {}
    for block in program.blocks:
        for op in block.ops:
            for register in op.registers_written():
                writes.setdefault(register.slot, []).append(op)
    return frozenset(
        slot
        for slot, ops in writes.items()
        if len(ops) == 1 and ops[0].name == "mov" and ops[0].sources[0] == Constant(1)
    )
