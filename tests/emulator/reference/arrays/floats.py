"""Floating-point instructions that round once, as in the hardware.

NumPy's add, multiply, divide and square root round once and are used directly. NumPy has no fused
multiply-add: it is computed precisely enough to be rounded only once as well. Payloads of NaNs are
not modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_F32_TINY = np.float32(np.finfo(np.float32).tiny)


def of_upper_words(name: str) -> Callable[[Array], Array]:
    """`rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`, which use only a double's upper word."""
    upper, tiny = np.uint64(0xFFFFFFFF << 32), np.finfo(np.float64).tiny

    def flushed(a: Array) -> Array:
        return np.where(np.abs(a) < tiny, np.copysign(0.0, a), a)

    def compute(a: Array) -> Array:
        x = flushed((a.view(np.uint64) & upper).view(np.float64))
        found = flushed(1 / (np.sqrt(x) if name == "rsqrt" else x))
        raw = np.where(np.isnan(found), np.uint64(0x7FFFFFFF << 32), found.view(np.uint64) & upper)
        return raw.view(np.float64)

    return compute


def flush(a: Array) -> Array:
    """Flush subnormals to zero of the same sign."""
    return np.where(np.abs(a) < _F32_TINY, np.copysign(np.float32(0), a), a)


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """a·b + c, rounded once.

    The product of two floats is exact in double precision. The sum is rounded to double and then to
    single, which differs from rounding once only if the double lies exactly half-way between two
    floats (or the float is subnormal); for these lanes the sum is rounded to odd instead, after
    which the second rounding is correct.
    """
    product = np.multiply(a, b, dtype=np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    raw = total.view(np.uint64)
    suspicious = (raw & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    suspicious |= (raw << np.uint64(1)) < np.uint64(897 << 53)
    if suspicious.any():
        total = round_to_odd(product, addend, total)
    return total.astype(np.float32)


def round_to_odd(a: Array, b: Array, total: Array) -> Array:
    """a + b rounded to the neighbour with an odd last bit, given `total`, which is rounded to
    nearest."""
    virtual = total - a
    error = (a - (total - virtual)) + (b - virtual)
    raw = np.array(total).view(np.int64)
    # An even last bit and an error: the odd neighbour lies on the error's side.
    away = np.where((error > 0) == (total > 0), np.int64(1), np.int64(-1))
    fix = np.isfinite(total) & (error != 0) & (raw & 1 == 0) & (total != 0)
    return np.where(fix, raw + away, raw).view(np.float64)


def fma_f64(a: Array, b: Array, c: Array) -> Array:
    """a·b + c in double precision, rounded once (Boldo and Melquiond's algorithm).

    Valid if no intermediate overflows or loses bits to underflow; other lanes are computed with
    exact rational arithmetic, one by one.
    """
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = _two_product(a, b)
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    result = v_high + round_to_odd(t_low, v_low, t_low + v_low)
    plain = a * b + c
    biggest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(c), np.abs(high)))
    safe = (biggest < 1e150) & (np.abs(high) > 1e-200)
    exact_zero = (a == 0) | (b == 0)
    result = np.where(np.isfinite(plain) & ~exact_zero, result, plain)
    # A finite product may overflow in `plain`, but next to an infinite addend this does not matter.
    result = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, result)
    odd = ~safe & ~exact_zero & np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    if odd.any():
        result = result.copy()
        for at in zip(*np.nonzero(odd), strict=True):
            exact = Fraction(float(a[at])) * Fraction(float(b[at])) + Fraction(float(c[at]))
            result[at] = _rounded(exact, plain[at])
    return result


def _rounded(exact: Fraction, plain: float) -> float:
    """Round a rational to the nearest double; the sign of a zero is that of the plain
    arithmetic."""
    if exact == 0:
        return float(plain) * 0.0 if plain == 0 else 0.0
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    (a1, a0), (b1, b0) = _split(a), _split(b)
    return product, a0 * b0 - (((product - a1 * b1) - a0 * b1) - a1 * b0)


def _split(a: Array) -> tuple[Array, Array]:
    factor = 134217729.0 * a  # 2^27 + 1
    high = factor - (factor - a)
    return high, a - high


def directed(nearest: Array, above: Array, rounding: str) -> Array:
    """Step back by one if rounding to nearest went beyond the exact value in the wrong direction.

    `above` is the sign of `nearest` - exact value.
    """
    kind = nearest.dtype.type
    down, up = np.nextafter(nearest, kind(-np.inf)), np.nextafter(nearest, kind(np.inf))
    if rounding == "rm":
        return np.where(above > 0, down, nearest)
    if rounding == "rp":
        return np.where(above < 0, up, nearest)
    inward = np.where(nearest > 0, above > 0, (nearest < 0) & (above < 0))
    return np.where(inward, np.where(nearest > 0, down, up), nearest)


def chosen(name: str, variant: frozenset[str]) -> Callable[[Array, Array], Array]:
    """min or max with the modifiers of a `variant`."""
    plain = partial(minimum_maximum, name == "min", "NaN" in variant)
    if "xorsign" not in variant:
        return plain

    def signed(a: Array, b: Array) -> Array:
        """The smaller or larger magnitude, with the exclusive or of the signs."""
        magnitude = plain(np.abs(a), np.abs(b))
        return np.where(np.signbit(a) != np.signbit(b), -magnitude, magnitude)

    return signed


def minimum_maximum(smallest: bool, propagates_nan: bool, a: Array, b: Array) -> Array:
    """min or max: a number is preferred to a NaN unless `.NaN` is given; -0 is less than +0."""
    if propagates_nan:
        result = np.minimum(a, b) if smallest else np.maximum(a, b)
    else:
        result = np.fmin(a, b) if smallest else np.fmax(a, b)
    zero = (a == 0) & (b == 0)
    if zero.any():
        kind = np.dtype(f"u{a.dtype.itemsize}")
        x, y = a.view(kind), b.view(kind)
        result = np.where(zero, (x | y if smallest else x & y).view(a.dtype), result)
    return result


def _through_double(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def computed(a: Array) -> Array:
        return function(a.astype(np.float64)).astype(a.dtype)

    return computed


def approximate_quotient(a: Array, b: Array) -> Array:
    """`div.approx`: the reciprocal of a divisor beyond 2^126 is zero."""
    return np.where(np.abs(b) > 2.0**126, a * np.copysign(np.float32(0), b), a / b)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "copysign": lambda a, b: np.copysign(b, a),
    "rcp": lambda a: a.dtype.type(1) / a,
    "sqrt": np.sqrt,
    "rsqrt": _through_double(lambda a: 1.0 / np.sqrt(a)),
    "ex2": _through_double(np.exp2),
    "lg2": _through_double(np.log2),
    "sin": _through_double(np.sin),
    "cos": _through_double(np.cos),
    "tanh": _through_double(np.tanh),
}

TESTS: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}
