"""Modifiers of a source operand: the part of it that is used, its shift, and its signs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from harness.emulator.sass.code import Instruction, Operand
from harness.emulator.sass.instructions.operand_shapes import Unencodable

_HALVES = {"H0_H0": 1, "H1_H1": 2}
_HALF = {"H0": 1, "H1": 2}
_HALF_OF_FLOAT = {"H0": 0, "H1": 1}
_BYTES = {"B0": 4, "B1": 5, "B2": 6, "B3": 7, "H0": 4, "H1": 6}
"""The encoded position of the part of a word that a conversion reads: 4 plus its offset in
bytes."""
_BYTES_OF_PREDICATES = {"B0": 0, "B1": 1, "B2": 2, "B3": 3}
_OF_FLOATS = ("F16", "BF16", "F32", "F64")
_FROM_FLOATS = ("F2I", "F2F", "FRND", "MUFU")
ALL_BITS = 0xFFFFFFFF
_SIGN, _SIGNS_OF_HALVES, _SIGN_OF_LOWER = 0x80000000, 0x80008000, 0x8000
_FLOAT_OPCODES = frozenset({
    "FADD", "FMUL", "FFMA", "FSETP", "FSET", "FSEL", "FMNMX", "FCHK", "MUFU", "F2F", "F2I", "F2FP",
    "FRND", "FADD2", "FMUL2", "FFMA2", "FHADD", "FHFMA", "FMNMX3",
})  # fmt: skip
_AS_IT_STANDS = "vrkay"
"""Kinds of sources that a definition reads from the register directly, without modifiers."""
SWAPPED_WITH_SIGN: Final = "H0_NH1"
"""Swapped halves; the sign of the new lower half is changed."""
_SCALES = {"X4": 2, "X8": 3, "X16": 4}
ALSO = {
    "r": ("ROW",),
    "k": ("COL",),
    "a": ("64", "U32"),
    "h": ("H1_H0",),
    "F": ("F32x2", "HI_LO", "LO_HI", "F32"),
}
"""Suffixes that state a default, or that `_memory` reads."""


@lru_cache(maxsize=1 << 12)
def parts(opcode: str, modifiers: tuple[str, ...], kind: str) -> Mapping[str, int]:
    """Map the suffixes that a source may have to their encodings. A suffix selects a part of the
    source or its shift."""
    if kind == "a":
        return _SCALES
    if kind == "e":
        return _HALF_OF_FLOAT
    if opcode in ("I2F", "I2FP"):
        return _BYTES
    if opcode in ("R2P", "UR2UP"):
        return _BYTES_OF_PREDICATES
    if opcode == "F2FP" and "UNPACK_B" in modifiers:
        return _HALF_OF_FLOAT
    if is_half(opcode, modifiers):
        return {**_HALVES, **_HALF}
    return {**_HALVES, SWAPPED_WITH_SIGN: 3} if kind == "h" else {}


@lru_cache(maxsize=1 << 12)
def is_half(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Return whether a conversion, rounding or function of one number applies to a half."""
    types = [each for each in modifiers if each in _OF_FLOATS]
    return opcode in _FROM_FLOATS and types[-1:] in (["F16"], ["BF16"])


def set_signs(operand: Operand, instruction: Instruction, out: Any, kind: str) -> None:
    signed = operand.negated or operand.inverted or operand.absolute
    if signed and kind in _AS_IT_STANDS:
        raise Unencodable(f"operand {operand.text}")
    if kind in "he" or is_half(instruction.opcode, instruction.modifiers):
        sign = _SIGNS_OF_HALVES
    elif kind == "d" or instruction.opcode.removeprefix("U") in _FLOAT_OPCODES:
        sign = _SIGN
    else:
        if operand.absolute:
            raise Unencodable(f"operand {operand.text}")
        if operand.negated or operand.inverted:
            out["flip"], out["plus"] = ALL_BITS, operand.negated
        return
    if operand.absolute:
        out["keep"] = ALL_BITS ^ sign
    if operand.negated:
        out["flip"] = sign
    if SWAPPED_WITH_SIGN in operand.suffixes:
        out["flip"] ^= _SIGN_OF_LOWER
