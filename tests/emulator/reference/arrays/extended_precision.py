"""Extended-precision integer arithmetic: add.cc, addc, sub.cc, subc, mad.cc, madc.

The condition code is an additional predicate register: the carry of an addition, or the absence of
a borrow in a subtraction. Every function takes it as the last argument and returns the result with
the new condition code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import Op
from reference.arrays import integers

Array = NDArray[Any]
Both = tuple[Array, Array]


def _add(a: Array, b: Array, carry: Array) -> Both:
    partial = a + b
    total = partial + carry.astype(a.dtype)
    return total, (partial < a) | (total < partial)


def _subtract(a: Array, b: Array, carry: Array) -> Both:
    """A carry of 1 means that there was no borrow or, as an input, that none is to be
    subtracted."""
    borrow = ~carry
    partial = a - b
    total = partial - borrow.astype(a.dtype)
    return total, ~((a < b) | (partial < borrow))


def implementation(op: Op) -> Callable[..., Both]:
    """The function that implements add_carry, sub_carry or mad_carry."""
    if op.name == "add_carry":
        return _add
    if op.name == "sub_carry":
        return _subtract
    high = "hi" in op.variant

    def multiply_add(a: Array, b: Array, c: Array, carry: Array) -> Both:
        product = integers.multiply_high(a, b) if high else np.multiply(a, b)
        return _add(product.view(c.dtype), c, carry)

    return multiply_add
