"""Rounding of rational numbers to any binary format, one number at a time: a reference for tests.

It shares no code with the emulator, which computes in NumPy's doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """`precision` includes the leading bit; normal exponents are from `lowest` to `highest`."""

    bits: int
    precision: int
    lowest: int
    highest: int


F16 = Format(16, 11, -14, 15)
BF16 = Format(16, 8, -126, 127)
F32 = Format(32, 24, -126, 127)
F64 = Format(64, 53, -1022, 1023)


def decode(raw: int, form: Format) -> Fraction | float:
    """The number that a bit pattern represents; infinities, NaN and -0 as Python floats."""
    fraction_bits = form.precision - 1
    fraction = raw & ((1 << fraction_bits) - 1)
    exponent = raw >> fraction_bits & ((1 << (form.bits - form.precision)) - 1)
    sign = -1 if raw >> (form.bits - 1) else 1
    if exponent == (1 << (form.bits - form.precision)) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent:
        fraction += 1 << fraction_bits
    if not fraction:
        return -0.0 if sign < 0 else Fraction(0)
    power = max(exponent, 1) - 1 + form.lowest - fraction_bits
    return sign * fraction * Fraction(2) ** power


def encode(value: Fraction, form: Format, mode: str = "rn", zero_sign: int = 1) -> int:
    """The bits of a rational, rounded once: rn (ties to even), rz, rm or rp."""
    sign = 1 if value > 0 else -1 if value < 0 else zero_sign
    size = abs(value)
    top = 1 << (form.bits - 1) if sign < 0 else 0
    if size == 0:
        return top
    above, below = size.numerator, size.denominator
    exponent = above.bit_length() - below.bit_length()
    if above << max(-exponent, 0) < below << max(exponent, 0):
        exponent -= 1
    exponent = max(exponent, form.lowest)
    last_place = exponent - form.precision + 1
    below <<= max(last_place, 0)
    count, rest = divmod(above << max(-last_place, 0), below)
    away = mode == "rp" if sign > 0 else mode == "rm"
    if mode == "rn":
        away = rest * 2 > below or (rest * 2 == below and count & 1 == 1)
    count += rest != 0 and away
    if count == 1 << form.precision:
        count, exponent = count // 2, exponent + 1
    if exponent > form.highest:
        towards_zero = mode == "rz" or (mode != "rn" and not away)
        infinity = (1 << (form.bits - form.precision)) - 1 << (form.precision - 1)
        return top | (infinity - 1 if towards_zero else infinity)
    if count < 1 << (form.precision - 1):
        return top | count
    biased = exponent - form.lowest + 1
    return top | (biased << (form.precision - 1)) + count - (1 << (form.precision - 1))
