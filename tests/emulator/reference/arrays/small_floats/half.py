"""Half precision: f16 and bf16, one per register or two (f16x2, bf16x2).

A half is widened to a type in which a second rounding cannot change the result of the operation,
and is narrowed once. Double precision has more than twice as many bits as either half, plus two, so
a rounded sum, product, quotient or root of halves may be rounded again; a fused multiply-add is
rounded to odd first. A NaN result is 0x7FFF, as in the PTX ISA manual.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.program.ir import HALVES, Op, element
from reference.arrays import floats

Array = NDArray[Any]
Function = Callable[..., Any]

CANONICAL_NAN = np.uint16(0x7FFF)
_SMALLEST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126}
_ONE = {"f16": np.uint16(0x3C00), "bf16": np.uint16(0x3F80)}


# --- between bits and numbers -----------------------------------------------------------------


def widen(format_: str, raw: Array) -> Array:
    """The numbers that 16-bit patterns represent, in double precision."""
    if format_ == "f16":
        return raw.view(np.float16).astype(np.float64)
    wide = raw.astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).astype(np.float64)


def narrow(format_: str, value: Array, rounding: str = "rn") -> Array:
    """Convert doubles to 16-bit patterns, rounded once in any direction."""
    if format_ == "f16" and rounding == "rn":
        raw = value.astype(np.float16).view(np.uint16)
    else:
        raw = _round_bits(format_, value, rounding)
    return np.where(np.isnan(value), CANONICAL_NAN, raw)


def _round_bits(format_: str, value: Array, rounding: str) -> Array:
    """Truncate a float that was rounded to odd, which keeps every rounding correct."""
    odd = to_odd_float(value)
    if format_ == "f16":
        return _directed_f16(odd, value, rounding)
    magnitude = odd.view(np.uint32) & np.uint32(0x7FFFFFFF)
    negative = np.signbit(odd)
    kept, rest = magnitude >> np.uint32(16), magnitude & np.uint32(0xFFFF)
    half = np.uint32(0x8000)
    up: Array
    if rounding == "rn":
        up = (rest > half) | ((rest == half) & (kept & np.uint32(1) == 1))
    elif rounding == "rz":
        up = np.zeros(rest.shape, np.bool_)
    else:
        up = (rest != 0) & (negative if rounding == "rm" else ~negative)
    raw = kept + up + (negative.astype(np.uint32) << np.uint32(15))
    return raw.astype(np.uint16)


def _directed_f16(odd: Array, value: Array, rounding: str) -> Array:
    nearest = odd.astype(np.float16)
    difference = np.sign(nearest.astype(np.float64) - value)
    return floats.directed(nearest, difference, rounding).view(np.uint16)


def to_odd_float(value: Array) -> Array:
    """Convert doubles to floats; if inexact, to the neighbour whose last bit is odd."""
    nearest = np.asarray(value.astype(np.float32))
    wide = nearest.astype(np.float64)
    raw = nearest.view(np.int32)
    inexact = (wide != value) & ~np.isnan(value) & (raw & 1 == 0)
    step = np.where(np.abs(value) > np.abs(wide), 1, -1).astype(np.int32)
    return np.where(inexact, raw + step, raw).view(np.float32)


def halves(type_: str, raw: Array) -> list[Array]:
    """The 16-bit patterns in a register, the lower first."""
    if raw.dtype.itemsize == 2:
        return [raw.view(np.uint16)]
    assert type_.endswith("x2")
    return [raw.astype(np.uint16), (raw >> np.uint32(16)).astype(np.uint16)]


def joined(parts: list[Array]) -> Array:
    """The inverse of `halves`."""
    if len(parts) == 1:
        return parts[0]
    low, high = (part.astype(np.uint32) for part in parts)
    return low | high << np.uint32(16)


# --- arithmetic -------------------------------------------------------------------------------


def implementation(op: Op) -> Function:
    """The function that implements an arithmetic operation on halves. Raises KeyError if there is
    none."""
    type_, variant = op.source_types[0], frozenset(op.variant)
    one = _bitwise(op.name, variant, element(type_)) or _computed(op.name, variant, element(type_))

    def compute(*operands: Array) -> Array:
        split = [halves(type_, operand) for operand in operands]
        result = joined([one(*each) for each in zip(*split, strict=True)])
        return result.view(np.float16) if type_ == "f16" else result

    return compute


def _bitwise(name: str, variant: frozenset[str], format_: str) -> Function | None:
    """neg and abs change the sign bit of any pattern, including NaNs and subnormals."""
    if name not in ("neg", "abs"):
        return None
    flush = partial(_flush_bits, format_) if "ftz" in variant else lambda raw: raw
    if name == "neg":
        return lambda raw: flush(raw) ^ np.uint16(0x8000)
    return lambda raw: flush(raw) & np.uint16(0x7FFF)


def _flush_bits(format_: str, raw: Array) -> Array:
    tiny = np.abs(widen(format_, raw)) < _SMALLEST_NORMAL[format_]
    return np.where(tiny, raw & np.uint16(0x8000), raw)


def _computed(name: str, variant: frozenset[str], format_: str) -> Function:
    if name in ("min", "max"):
        function: Function = floats.chosen(name, variant)
    else:
        function = {"fma": _fused, **_PLAIN}[name]

    def one(*raw: Array) -> Array:
        if "ftz" in variant:
            raw = tuple(_flush_bits(format_, each) for each in raw)
        result = function(*(widen(format_, each) for each in raw))
        if "sat" in variant:
            result = np.where(result > 0, np.minimum(result, 1.0), 0.0)
        if "relu" in variant:
            result = np.where(result <= 0, 0.0, result)
        out = narrow(format_, result)
        return _flush_bits(format_, out) if "ftz" in variant else out

    return one


def _fused(a: Array, b: Array, c: Array) -> Array:
    product = a * b  # exact: 22 bits at most
    return floats.round_to_odd(product, c, product + c)


_PLAIN: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "ex2": np.exp2, "tanh": np.tanh,
}  # fmt: skip


def add(type_: str, a: Array, b: Array) -> Array:
    """Add register contents once, as an atomic does."""
    pairs = zip(halves(type_, a), halves(type_, b), strict=True)
    format_ = element(type_)
    return joined([narrow(format_, widen(format_, x) + widen(format_, y)) for x, y in pairs])


# --- comparison -------------------------------------------------------------------------------


def comparison(op: Op, compare: Function, combine: Function | None) -> Function:
    """`setp` and `set`; a packed comparison compares both halves and gives two results, or two
    halves."""
    type_, format_ = op.source_types[0], element(op.source_types[0])

    def compared(a: Array, b: Array, c: Array | None) -> list[Array]:
        out = []
        for x, y in zip(halves(type_, a), halves(type_, b), strict=True):
            if "ftz" in op.variant:
                x, y = _flush_bits(format_, x), _flush_bits(format_, y)  # noqa: PLW2901
            holds = compare(widen(format_, x), widen(format_, y))
            out.append(holds if combine is None or c is None else combine(holds, c))
        return out

    def setp(a: Array, b: Array, c: Array | None = None) -> Array | tuple[Array, Array]:
        results = compared(a, b, c)
        if len(op.results) == 1:
            return results[0]
        if len(results) == 2:
            return results[0], results[1]
        opposite = ~compared(a, b, None)[0]
        joined_ = opposite if combine is None or c is None else combine(opposite, c)
        return results[0], joined_

    to = op.result_types[0]

    def set_(a: Array, b: Array, c: Array | None = None) -> Array:
        if to in HALVES:
            true, zero = _ONE[element(to)], np.uint16(0)
            result = joined([np.where(each, true, zero) for each in compared(a, b, c)])
            return result.view(np.float16) if to == "f16" else result
        results = compared(a, b, c)
        if len(results) == 2:
            return joined([np.where(each, np.uint16(0xFFFF), np.uint16(0)) for each in results])
        kind = np.uint16 if to == "u16" else np.uint32
        if to == "f32":
            return results[0].astype(np.float32)
        return np.where(results[0], ~kind(0), kind(0))

    return set_ if op.name == "set" else setp
