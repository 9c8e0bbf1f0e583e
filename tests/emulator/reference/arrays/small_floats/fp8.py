"""Pairs of 8-bit floats: the nearest value is looked up in tables of all values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.emulator.program.ir import FP8_PAIRS, Op
from reference.arrays.integers import Array

_DIGITS = {"e4m3x2": 3, "e5m2x2": 2}
_LARGEST = {"e4m3x2": 0x7E, "e5m2x2": 0x7B}
_NAN, _HALF_NAN = 0x7F, 0x7FFF


def concerns(op: Op) -> bool:
    return op.result_types[0] in FP8_PAIRS or op.source_types[0] in FP8_PAIRS


def conversion(op: Op) -> Callable[..., Array]:
    """Packed conversions take the upper number first, as in PTX."""
    to, source, relu = op.result_types[0], op.source_types[0], "relu" in op.variant
    if source in FP8_PAIRS:
        return lambda a: _wide(source, a & 0xFF, relu) | _wide(source, a >> 8, relu) << 16
    if source == "f32":
        return lambda high, low: _narrow(to, high, relu) << 8 | _narrow(to, low, relu)
    return lambda a: _narrow(to, _half(a >> 16), relu) << 8 | _narrow(to, _half(a), relu)


def _half(a: Array) -> Array:
    return a.astype(np.uint16).view(np.float16).astype(np.float32)


def _values(format_: str) -> Array:
    """All values of the format, from 0 to the largest."""
    digits, raw = _DIGITS[format_], np.arange(_LARGEST[format_] + 1)
    bias = (1 << 6 - digits) - 1
    exponent, fraction = raw >> digits, raw % (1 << digits) / 2**digits
    subnormal = exponent == 0
    powers = np.where(subnormal, 1, exponent) - bias
    values: Array = np.where(subnormal, fraction, 1 + fraction) * 2.0**powers
    return values


def _narrow(format_: str, a: Array, relu: bool) -> Array:
    values = _values(format_)
    between = (values[1:] + values[:-1]) / 2
    magnitude = np.abs(a).astype(np.float64)
    below = np.searchsorted(between, magnitude, "left")
    above = np.searchsorted(between, magnitude, "right")
    raw = np.where(below % 2 == 0, below, above)  # the even one if both are equally near
    raw = raw | np.where(np.signbit(a), 0x80, 0)
    if relu:
        raw = np.where(np.signbit(a), 0, raw)
    return np.where(np.isnan(a), _NAN, raw).astype(np.uint16)


def _wide(format_: str, raw: Array, relu: bool) -> Array:
    values = _values(format_)
    magnitude = raw & 0x7F
    number = values[np.minimum(magnitude, len(values) - 1)]
    infinite = (magnitude == 0x7C) & (format_ == "e5m2x2")
    number = np.where(infinite, np.inf, number)
    half = np.where(raw & 0x80, -number, number).astype(np.float16).view(np.uint16)
    if relu:
        half = np.where(raw & 0x80, 0, half)
    nan = (magnitude > _LARGEST[format_]) & ~infinite
    return np.where(nan, _HALF_NAN, half).astype(np.uint32)
