"""Count the floating-point operations of PTX instructions.

Nsight Compute counts thread instructions by machine opcode: FADD, FMUL and FFMA, and their D and H
counterparts. According to readings on an H200, a thread instruction counts once whether it works on
one half or on two, a subtraction counts as an addition, and bf16 counts under H. This module
follows these rules. The arithmetic that sm_100 introduced, on pairs of floats and on halves added
to floats, has other opcodes, so its operations are counted, but it adds to none of these
instruction counts. Divisions, roots and functions (`div`, `sqrt`, `rcp`, `ex2`, …), comparisons,
`min`, `max`, `neg` and conversions are not among these instructions in PTX, so they are not
counted, although machine code implements some of them with FADD, FMUL and FFMA.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from harness.emulator.program.signatures import split_opcode
from harness.silicon.architectures import WARP_SIZE

THREADS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
PRECISIONS = ("fp16", "fp32", "fp64", "tensor")
_LETTERS = {
    "f32": "f", "f32x2": "f", "f64": "d", "f16": "h", "bf16": "h", "f16x2": "h", "bf16x2": "h",
}  # fmt: skip
_PRECISION = {"f": "fp32", "d": "fp64", "h": "fp16"}
_OPERATIONS = {"add": "add", "sub": "add", "mul": "mul", "mad": "fma", "fma": "fma"}
INSTRUCTIONS = tuple(f"{letter}{kind}" for letter in "fdh" for kind in ("add", "mul", "fma"))
"""Nsight Compute's kinds of thread instruction, as in its counters' names."""

_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)\b")
_INTEGERS = frozenset({"s8", "u8", "s4", "u4", "b1"})
_PRODUCTS = frozenset({"mma", "mma_async"})  # of `wmma` and `wgmma`
_SPARSE = frozenset({"sp", "sp::ordered_metadata"})


@dataclass(frozen=True)
class Arithmetic:
    """One thread's arithmetic in an instruction. `instruction`: one of INSTRUCTIONS, or empty."""

    precision: str
    instruction: str
    operations: int


@lru_cache(maxsize=4096)
def arithmetic(opcode: str) -> Arithmetic | None:
    """The floating-point operation of a PTX opcode; None unless it is an addition or
    multiplication.

    An m × n × k matrix instruction performs 2·m·n·k operations, shared by all lanes of a warp or by
    the four warps of a warpgroup. If the first operand is sparse, half of them are executed.
    """
    name, modifiers, types = split_opcode(opcode)
    if name == "mma" or not _PRODUCTS.isdisjoint(modifiers):
        shape = _SHAPE.search(opcode)
        if shape is None or not _INTEGERS.isdisjoint(opcode.split(".")):
            return None
        m, n, k = map(int, shape.groups())
        k //= 2 if not _SPARSE.isdisjoint(modifiers) else 1
        lanes = 4 * WARP_SIZE if name == "wgmma" else WARP_SIZE
        return Arithmetic("tensor", "", 2 * m * n * k // lanes)
    type_ = types[0] if types else ""
    operation, letter = _OPERATIONS.get(name), _LETTERS.get(type_)
    if operation is None or letter is None:
        return None
    each = (2 if operation == "fma" else 1) * (2 if type_.endswith("x2") else 1)
    is_later = type_ == "f32x2" or len(types) > 1
    return Arithmetic(_PRECISION[letter], "" if is_later else letter + operation, each)


def operations(opcode: str) -> int:
    """The number of floating-point operations of an instruction, per thread that executes it."""
    found = arithmetic(opcode)
    return found.operations if found else 0


def totals(executed: Iterable[tuple[str, int]]) -> tuple[dict[str, int], dict[str, int]]:
    """Sum (opcode, threads) pairs: thread instructions by kind, operations by precision."""
    instructions, flops = dict.fromkeys(INSTRUCTIONS, 0), dict.fromkeys(PRECISIONS, 0)
    for opcode, threads in executed:
        found = arithmetic(opcode)
        if found:
            flops[found.precision] += found.operations * threads
            if found.instruction:
                instructions[found.instruction] += threads
    return instructions, flops
