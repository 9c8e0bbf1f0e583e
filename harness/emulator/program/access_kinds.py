"""How an access behaves in a race, and a log by which an old access can still be named.

A check keeps, for each word, a stamp of its last accesses: one integer that holds a number from
the log, the kind of access and the thread. Numbers ascend, so that what came before a barrier is
what has a number below the barrier's.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from harness.emulator.program.ir import Constant, Op, Program, Register
from harness.emulator.program.liveness import always_one
from harness.emulator.program.signatures import split_opcode
from harness.emulator.ptx.syntax import TYPE_SIZES

Array = NDArray[Any]

PLAIN, VOLATILE, ATOMIC, BLOCK_ATOMIC = 0, 1, 2, 3
"""The last: atomic for the threads of its block alone, in memory that other blocks see."""


_STRONG = {"relaxed", "acquire", "release", "acq_rel", "sc"}


def access_kinds(program: Program) -> list[int]:
    """For each site whether it is a plain, a volatile or an atomic access, and for whom."""
    return [access_kind(site.opcode) for site in program.sites]


def access_kind(opcode: str) -> int:
    name, modifiers, _ = split_opcode(opcode)
    if name in ("atom", "red") or _STRONG & set(modifiers):
        return BLOCK_ATOMIC if "cta" in modifiers and "shared" not in modifiers else ATOMIC
    return VOLATILE if "volatile" in modifiers else PLAIN


def fences(program: Program) -> list[bool]:
    """For each site whether it is a fence, too, if it is an atomic access."""
    orders = {"acquire", "release", "acq_rel", "sc"}
    return [bool(orders & set(split_opcode(site.opcode)[1])) for site in program.sites]


def grain(program: Program, space: str) -> int:
    """The narrowest word by which a program accesses a state space: the unit of its checks."""
    sizes = [
        TYPE_SIZES[_word(op)]
        for block in program.blocks
        for op in block.ops
        if op.name in ("ld", "st", "atom") and op.variant[0] in (space, "")
    ]
    return min(sizes, default=4)


def _word(op: Op) -> str:
    return op.result_types[0] if op.name == "ld" else op.source_types[2]


def wavefront_rule(program: Program, op: Op, *, wanted: bool) -> str:
    """Which rule an atomic's wavefronts follow: its operation, or `count up`.

    That is the addition of 1 whose result nobody reads, for which machine code has a form of its
    own. `wanted` says whether somebody reads the result.
    """
    operation, one = op.variant[1], op.sources[2]
    counts_up = operation == "add" and not wanted and op.source_types[2] == "u32" and (
        (isinstance(one, Constant) and one.bits == 1)
        or (isinstance(one, Register) and one.slot in program.once(always_one))
    )  # fmt: skip
    return "count up" if counts_up else operation
