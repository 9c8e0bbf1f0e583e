"""Instructions that Turing's code uses in place of those of later architectures.

`HADD2 R0,R2.F32,-RZ.H0_H0` adds a float to -0. ptxas writes it for `cvt.rz.f16.f32`, which code for
later architectures implements with a pack instruction (`F2FP.PACK_AB.RZ`). Where PTX needs the half
twice, the code uses the whole result. The instruction rounds towards zero; for rounding to nearest,
ptxas emits a different one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from harness.emulator.sass.code import Instruction

OF_FLOAT: Final = ("F32",)
_NEGATIVE_ZERO = "-RZ.H0_H0"


def as_later(instruction: Instruction) -> Instruction:
    """Replace the addition of a float and -0 by the pack instruction that later architectures use;
    return any other instruction unchanged."""
    if instruction.opcode != "HADD2" or instruction.modifiers or len(instruction.operands) != 3:
        return instruction
    result, *both = instruction.operands
    floats = [each for each in both if each.suffixes == OF_FLOAT]
    if len(floats) != 1 or all(each.text != _NEGATIVE_ZERO for each in both):
        return instruction
    number = replace(floats[0], suffixes=())
    return replace(
        instruction, opcode="F2FP", modifiers=("PACK_AB", "RZ"), operands=(result, number, number)
    )
