"""Arithmetic on floats and doubles rounded towards zero, down or up.

A result is rounded to nearest; the sign of its error then determines the requested
neighbour. In single precision the error is computed in double precision; in double precision every
lane uses rational numbers, which is slow but rare.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arrays import floats

Array = NDArray[Any]
Function = Callable[..., Array]


def directed(name: str, type_: str, rounding: str) -> Function:
    """`name.<rounding>.<type>`: add, sub, mul, fma, mad, div, rcp or sqrt."""
    compute = _SINGLE[name] if type_ == "f32" else _doubles(name)

    def rounded(*operands: Array) -> Array:
        nearest, above = compute(*operands)
        result = floats.directed(nearest, above, rounding)
        if rounding == "rm" and name in _SUMS:
            result = np.where((nearest == 0) & (above == 0) & _cancels(name, *operands), -0.0,
                              result).astype(result.dtype)  # fmt: skip
        return result

    return rounded


_SUMS = ("add", "sub", "fma", "mad")


def _cancels(name: str, a: Array, b: Array, c: Array | None = None) -> Array:
    """Return whether the terms of a sum have opposite signs: in that case an exact zero is -0 when
    rounding down.

    The sum of two terms that are both +0 is +0 in every direction.
    """
    first, second = np.signbit(a), np.signbit(b)
    if c is not None:
        first, second = first ^ second, np.signbit(c)
    cancels: Array = (first == second) if name == "sub" else (first != second)
    return cancels


# --- single precision -------------------------------------------------------------------------


def _from_odd(exact: Array) -> tuple[Array, Array]:
    """Round a double, exact or rounded to odd, to the nearest float; return it with the sign of its
    error."""
    nearest = exact.astype(np.float32)
    return nearest, np.sign(nearest.astype(np.float64) - exact)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    x, y = a.astype(np.float64), b.astype(np.float64)
    return _from_odd(floats.round_to_odd(x, y, x + y))


def _fused(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    product, addend = np.multiply(a, b, dtype=np.float64), c.astype(np.float64)
    return _from_odd(floats.round_to_odd(product, addend, product + addend))


def _quotient(a: Array, b: Array) -> tuple[Array, Array]:
    nearest = a / b
    # The remainder of a nearest quotient is exact in double precision.
    excess = np.multiply(nearest, b, dtype=np.float64) - a
    exact = (b == 0) | np.isinf(a) | np.isinf(b)
    above = np.where(exact, 0.0, np.sign(excess) * np.where(np.signbit(b), -1.0, 1.0))
    return nearest, above


def _root(a: Array) -> tuple[Array, Array]:
    nearest = np.sqrt(a)
    return nearest, np.sign(np.multiply(nearest, nearest, dtype=np.float64) - a)


_SINGLE: dict[str, Callable[..., tuple[Array, Array]]] = {
    "add": _sum,
    "sub": lambda a, b: _sum(a, -b),
    "mul": lambda a, b: _from_odd(np.multiply(a, b, dtype=np.float64)),
    "fma": _fused,
    "mad": _fused,
    "div": _quotient,
    "rcp": lambda a: _quotient(np.ones_like(a), a),
    "sqrt": _root,
}


# --- double precision -------------------------------------------------------------------------


def _doubles(name: str) -> Callable[..., tuple[Array, Array]]:
    nearest_of: Function = floats.fma_f64 if name in ("fma", "mad") else floats.FUNCTIONS[name]
    sign_of = _ERROR_SIGNS[name]

    def compute(*operands: Array) -> tuple[Array, Array]:
        operands = tuple(np.broadcast_arrays(*operands))
        nearest = nearest_of(*operands)
        above = np.zeros(nearest.shape)
        for at in np.ndindex(nearest.shape):
            values = [float(operand[at]) for operand in operands]
            found = float(nearest[at])
            if not np.isfinite(values).all() or np.isnan(found):
                continue
            if not np.isinf(found):
                above[at] = _sign(sign_of(Fraction(found), *map(Fraction, values)))
            elif not (name in ("div", "rcp") and values[-1] == 0):
                above[at] = 1 if found > 0 else -1
        return nearest, above

    return compute


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


_ERROR_SIGNS: dict[str, Callable[..., Fraction]] = {
    "add": lambda found, a, b: found - (a + b),
    "sub": lambda found, a, b: found - (a - b),
    "mul": lambda found, a, b: found - a * b,
    "fma": lambda found, a, b, c: found - (a * b + c),
    "mad": lambda found, a, b, c: found - (a * b + c),
    "div": lambda found, a, b: found - a / b,
    "rcp": lambda found, a: found - 1 / a,
    "sqrt": lambda found, a: found * found - a,
}
