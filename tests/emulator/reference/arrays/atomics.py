"""Atomic operations on an array of words, in a deterministic order.

Lanes execute in ascending order: blocks, then threads. Hardware guarantees no order; a fixed order
makes float sums and tickets the same in every run and on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import HALVES
from reference.arrays.small_floats import half

Array = NDArray[Any]

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


# Additions of halves, whose bits are kept as integers.
_HALF_SUMS: dict[str, Callable[[Array, Array], Array]] = {
    f"add.{type_}": partial(half.add, type_) for type_ in HALVES
}


def fetch(words: Array, index: Array, operation: str, operands: tuple[Array, ...]) -> Array:
    """Apply an atomic; return the value that each lane found before its own operation."""
    order = np.argsort(index, kind="stable")
    sorted_index = index[order]
    first = np.flatnonzero(np.concatenate(([True], sorted_index[1:] != sorted_index[:-1])))
    lengths = np.diff(np.append(first, len(index)))
    sorted_operands = tuple(operand[order] for operand in operands)
    found = np.empty(len(index), words.dtype)
    if int(lengths.max()) * 8 <= len(index) or int(lengths.max()) == 1:
        # If only a few lanes share each word, apply all first lanes at once, then all second lanes,
        # and so on.
        for turn in range(int(lengths.max())):
            at = first[lengths > turn] + turn
            where = sorted_index[at]
            found[at] = words[where]
            words[where] = _apply(operation, found[at], tuple(o[at] for o in sorted_operands))
    else:
        for start, length in zip(first.tolist(), lengths.tolist(), strict=True):
            span = slice(start, start + length)
            where = sorted_index[start]
            found[span], words[where] = _sequence(
                operation, words[where], tuple(o[span] for o in sorted_operands)
            )
    out = np.empty_like(found)
    out[order] = found
    return out


def _apply(operation: str, old: Array, operands: tuple[Array, ...]) -> Array:
    """Apply one operation to each of several words."""
    first = operands[0]
    ufunc = _UFUNCS.get(operation)
    if ufunc is not None:
        applied: Array = ufunc(old, first)
        return applied
    if operation in _HALF_SUMS:
        return _HALF_SUMS[operation](old, first)
    one, zero = old.dtype.type(1), old.dtype.type(0)
    if operation == "exch":
        return first
    if operation == "cas":
        return np.where(old == first, operands[1], old)
    if operation == "inc":
        return np.where(old >= first, zero, old + one)
    return np.where((old == zero) | (old > first), first, old - one)  # dec


def _sequence(operation: str, old: Any, operands: tuple[Array, ...]) -> tuple[Array, Any]:
    """Apply all operations on one word; return the old value for each lane, and the final value."""
    first = operands[0]
    ufunc = _UFUNCS.get(operation)
    if ufunc is not None:
        # accumulate rounds after every step, as one atomic after another does
        steps = ufunc.accumulate(np.concatenate(([old], first)), dtype=first.dtype)
        return steps[:-1], steps[-1]
    found = np.empty(len(first), first.dtype)
    value = np.array([old], first.dtype)
    for i in range(len(first)):
        found[i] = value[0]
        value = _apply(operation, value, tuple(o[i : i + 1] for o in operands))
    return found, value[0]
