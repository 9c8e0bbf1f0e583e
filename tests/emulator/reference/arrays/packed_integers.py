"""Bytes and half-words packed in a register: dp4a, dp2a, and 16-bit pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import Op

Array = NDArray[Any]


def _fields(packed: Array, bits: int, signed: bool) -> list[Array]:
    """The 8- or 16-bit fields of a word as 64-bit integers, the lowest first."""
    wide = packed.view(np.uint32).astype(np.int64)
    out = []
    for at in range(0, 32, bits):
        field = wide >> at & ((1 << bits) - 1)
        out.append(
            np.where(field >> (bits - 1) == 1, field - (1 << bits), field) if signed else field
        )
    return out


def implementation(op: Op) -> Callable[[Array, Array, Array], Array]:
    """`dp4a`: four products of bytes; `dp2a`: two products of half-words with the lower or upper
    bytes."""
    a_signed, b_signed = (type_[0] == "s" for type_ in op.source_types[:2])
    width = 8 if op.name == "dp4a" else 16
    first = 2 if "hi" in op.variant else 0

    def compute(a: Array, b: Array, c: Array) -> Array:
        left, right = _fields(a, width, a_signed), _fields(b, 8, b_signed)[first:]
        total = c.astype(np.int64)
        for x, y in zip(left, right, strict=False):
            total = total + x * y
        return total.astype(c.dtype)

    return compute


def _packed(fields: list[Array], width: int) -> Array:
    """The inverse of `_fields`, without the bits that do not fit."""
    word: Array = np.zeros((1, 1), np.int64)
    for i, field in enumerate(fields):
        word = word | (field & ((1 << width) - 1)) << (i * width)
    return word.astype(np.uint32)


def pairs(op: Op) -> Callable[[Array, Array], Array]:
    """add, min and max of two 16-bit integers in a register."""
    signed = op.source_types[0] == "s16x2"
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[op.name]

    def compute(a: Array, b: Array) -> Array:
        both = zip(_fields(a, 16, signed), _fields(b, 16, signed), strict=True)
        results = [function(x, y) for x, y in both]
        if "relu" in op.variant:
            results = [np.maximum(each, 0) for each in results]
        return _packed(results, 16)

    return compute
