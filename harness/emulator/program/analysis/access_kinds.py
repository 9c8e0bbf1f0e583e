"""The kinds of access that race detection distinguishes, and a log that identifies earlier
accesses.

For each word, the race check keeps a stamp of the last accesses: one integer that holds an index
into the log, the kind of access and the thread. Indices increase, so an access came before a
barrier if and only if its index is less than the barrier's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from harness.emulator.program.analysis.liveness import always_one
from harness.emulator.program.analysis.uniformity import varying_registers
from harness.emulator.program.ir import Constant, Op, Program, Register, Source, Special
from harness.emulator.program.signatures import split_opcode
from harness.emulator.ptx.syntax import TYPE_SIZES

Array = NDArray[Any]

PLAIN, VOLATILE, ATOMIC, BLOCK_ATOMIC = 0, 1, 2, 3
"""The kinds of access. The last is atomic only for the threads of its block, in memory that is
visible to other blocks."""


_STRONG = {"relaxed", "acquire", "release", "acq_rel", "sc"}


def access_kind(opcode: str) -> int:
    """The kind of an instruction's access: plain, volatile, atomic, or atomic only within its
    block."""
    name, modifiers, _ = split_opcode(opcode)
    if of_mbarriers(opcode):
        return PLAIN if modifiers[0] in ("init", "inval") else ATOMIC
    if name in ("atom", "red") or _STRONG & set(modifiers):
        return BLOCK_ATOMIC if "cta" in modifiers and "shared" not in modifiers else ATOMIC
    return VOLATILE if "volatile" in modifiers else PLAIN


def kind_of(program: Program, op: Op) -> int:
    """The kind of an operation's access; an instruction may become several operations."""
    opcode = program.sites[op.site].opcode
    if op.name == "st" and of_mbarriers(opcode):
        return PLAIN  # only its report to the mbarrier is atomic
    kind = access_kind(opcode)
    # A call to a system function contains atomics, too.
    return ATOMIC if op.name == "atom" and kind == PLAIN else kind


def is_of_single_halves(opcode: str) -> bool:
    """Return whether an access is to single halves rather than to pairs or vectors of them. Such an
    atomic becomes a loop around a compare-and-swap of the containing word."""
    _, modifiers, types = split_opcode(opcode)
    return types[-1:] in (["f16"], ["bf16"]) and {"v2", "v4", "v8"}.isdisjoint(modifiers)


def of_mbarriers(opcode: str) -> bool:
    """Return whether an instruction acts on an mbarrier, or signals one when its data has
    arrived."""
    names = ("mbarrier.", "cp.", "st.async", "red.async")
    return opcode.startswith(names) and "mbarrier" in opcode


def fills_cluster(opcode: str) -> bool:
    """Return whether an instruction is a bulk copy that may fill another block's shared memory."""
    return opcode.startswith(("cp.async.bulk.", "cp.reduce.async.bulk.")) and (
        "shared::cluster" in opcode
    )


def is_test_of_mbarrier(program: Program, op: Op) -> bool:
    """Return whether an operation tests whether an mbarrier's phase has ended."""
    return op.name == "ld" and of_mbarriers(program.sites[op.site].opcode)


def tests_mbarriers(program: Program) -> bool:
    """Return whether threads test whether the phases of mbarriers have ended."""
    return any(is_test_of_mbarrier(program, op) for block in program.blocks for op in block.ops)


def fences(program: Program) -> list[bool]:
    """Return, for each site, whether its atomic is also a fence."""
    return [_orders(site.opcode) for site in program.sites]


def _orders(opcode: str) -> bool:
    modifiers = set(split_opcode(opcode)[1])
    if "mbarrier::complete_tx::bytes" in modifiers:  # threads that wait for the bytes may read them
        return True
    if of_mbarriers(opcode):  # those that count bytes are relaxed; the others order by default
        counts_bytes = modifiers & {"expect_tx", "complete_tx"} and "arrive" not in modifiers
        return not counts_bytes and "relaxed" not in modifiers
    return bool(modifiers & {"acquire", "release", "acq_rel", "sc"})


def grain(program: Program, space: str) -> int:
    """Return the width of the narrowest access to a state space, which is the judge's unit."""
    return program.once(_grains)[space]


def granule(program: Program, space: str) -> int:
    """Return the widest unit of a state space, in bytes, that no access splits; the fast run uses
    it.

    A vector access is one access, aligned to its full width.
    """
    return program.once(_granules)[space]


def _grains(program: Program) -> dict[str, int]:
    return _least(program, lambda op: TYPE_SIZES[_word(op)])


def _granules(program: Program) -> dict[str, int]:
    found = _least(program, lambda op: TYPE_SIZES[_word(op)] * _elements(op))
    copied = [
        int(op.variant[0])
        for block in program.blocks
        for op in block.ops
        if op.name == "copy_async"
    ]
    return {space: min([size, *copied]) for space, size in found.items()}


def _least(program: Program, size: Callable[[Op], int]) -> dict[str, int]:
    """Map each state space to the smallest `size` of its accesses; generic accesses count for every
    space."""
    found: dict[str, list[int]] = {space: [] for space in ("global", "shared", "local")}
    for block in program.blocks:
        for op in block.ops:
            if op.name in ("ld", "st", "atom"):
                for space in [op.variant[0]] if op.variant[0] else found:
                    found.setdefault(space, []).append(size(op))
    return {space: min(sizes, default=4) for space, sizes in found.items()}


def _elements(op: Op) -> int:
    """The number of elements of a vector load or store; an atomic takes its elements one by one."""
    if op.name == "ld":
        return len(op.result_types)
    return len(op.sources) - 2 if op.name == "st" else 1


def _word(op: Op) -> str:
    return op.result_types[0] if op.name == "ld" else op.source_types[2]


def atomic_bytes(op: Op) -> int:
    """The number of bytes that an atomic accesses; a 128-bit atomic has its halves as operands."""
    return TYPE_SIZES[op.source_types[2]] * max(1, len(op.result_types))


COUNTS_UP, COMBINED, UNCOUNTED, VECTOR = "count up", "combined", "uncounted", "vector of "
_BY_BITS = ("and", "or", "xor")


def atomic_rule(program: Program, op: Op, *, wanted: bool) -> str:
    """The implementation of an atomic in machine code: one of the rules above, or the name of its
    operation.

    An addition of 1 to shared memory whose result is not read has a form of its own. If the address
    is the same for all threads, the operations of a warp's lanes are combined, and a single lane
    accesses memory. The rule for a vector's first element applies to all its elements. `wanted`:
    whether the result is read.
    """
    if len(op.variant) == 3:
        return UNCOUNTED if op.variant[2] == "0" else VECTOR + op.variant[2]
    space, operation = op.variant
    counts = operation == "add" and not wanted and op.source_types[2] == "u32"
    if counts and space != "global" and _is_one(program, op):
        return COUNTS_UP
    return COMBINED if _combines(program, op, wanted=wanted) else operation


def _is_one(program: Program, op: Op) -> bool:
    one = op.sources[2]
    if isinstance(one, Constant):
        return one.bits == 1
    return isinstance(one, Register) and one.slot in program.once(always_one)


def _combines(program: Program, op: Op, *, wanted: bool) -> bool:
    """Return whether ptxas 13.0 combines the lanes' operations, as seen in its machine code for
    sm_80 and sm_90."""
    space, operation = op.variant
    type_ = op.source_types[2]
    if space not in ("global", "shared") or type_[0] not in "us" or type_[1:] == "16":
        return False
    same = operation == "add" and _is_uniform(program, op.sources[2])
    reduced = type_[1:] == "32" and not wanted and operation in ("add", "min", "max", *_BY_BITS)
    return (same or reduced) and _is_uniform(program, op.sources[0])


def _is_uniform(program: Program, source: Source) -> bool:
    if isinstance(source, Register):
        return source.slot not in program.once(varying_registers)
    return not isinstance(source, Special)
