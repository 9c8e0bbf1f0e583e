"""Suffixes of a source operand: which part of it is meant, or how it is shifted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_HALVES = {"H0_H0": 1, "H1_H1": 2}
_HALF = {"H0": 1, "H1": 2}
_HALF_OF_FLOAT = {"H0": 0, "H1": 1}
_BYTES = {"B0": 4, "B1": 5, "B2": 6, "B3": 7, "H0": 4, "H1": 6}
"""Where in a word a conversion's number begins: 4 plus the offset in bytes."""
_BYTES_OF_PREDICATES = {"B0": 0, "B1": 1, "B2": 2, "B3": 3}
_OF_FLOATS = ("F16", "BF16", "F32", "F64")
_FROM_FLOATS = ("F2I", "F2F", "FRND", "MUFU")
SWAPPED_WITH_SIGN: Final = "H0_NH1"
"""Halves that have changed places, of which what is the lower one now has its sign changed."""
_SCALES = {"X4": 2, "X8": 3, "X16": 4}
ALSO = {
    "r": ("ROW",),
    "k": ("COL",),
    "a": ("64", "U32"),
    "h": ("H1_H0",),
    "F": ("F32x2", "HI_LO", "LO_HI", "F32"),
}
"""Suffixes that say what is so anyway, or that `_memory` reads."""


@lru_cache(maxsize=1 << 12)
def parts(opcode: str, modifiers: tuple[str, ...], kind: str) -> Mapping[str, int]:
    """Read from a source's suffix which part of it is meant, or how it is shifted."""
    if kind == "a":
        return _SCALES
    if kind == "e":
        return _HALF_OF_FLOAT
    if opcode in ("I2F", "I2FP"):
        return _BYTES
    if opcode == "R2P":
        return _BYTES_OF_PREDICATES
    if opcode == "F2FP" and "UNPACK_B" in modifiers:
        return _HALF_OF_FLOAT
    if is_half(opcode, modifiers):
        return {**_HALVES, **_HALF}
    return {**_HALVES, SWAPPED_WITH_SIGN: 3} if kind == "h" else {}


@lru_cache(maxsize=1 << 12)
def is_half(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Whether a conversion, rounding or function of one number is of a half."""
    types = [each for each in modifiers if each in _OF_FLOATS]
    return opcode in _FROM_FLOATS and types[-1:] in (["F16"], ["BF16"])
