"""Integer and bit-field instructions for which NumPy has no single function.

Operands and results are arrays of the PTX type; a shift or a field beyond the width is clamped, as
in the PTX ISA manual, where it would be undefined in C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def width(a: Array) -> int:
    return 8 * a.dtype.itemsize


def _signed(a: Array) -> bool:
    return a.dtype.kind == "i"


def _unsigned_type(a: Array) -> np.dtype[Any]:
    return np.dtype(f"u{a.dtype.itemsize}")


def multiply_wide(a: Array, b: Array) -> Array:
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    product: Array = np.multiply(a.astype(wide), b.astype(wide))
    return product


def multiply_high(a: Array, b: Array) -> Array:
    """The upper half of the product."""
    if a.dtype.itemsize < 8:
        return (multiply_wide(a, b) >> width(a)).astype(a.dtype)
    # 64 bits: from four 32-bit products, then a correction for negative operands.
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    carry = (middle & low) + x0 * y1
    high = x1 * y1 + (middle >> half) + (carry >> half)
    if _signed(a):
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return high.astype(a.dtype)


def multiply_24(high: bool, a: Array, b: Array, c: Array | None = None) -> Array:
    """The product of the low 24 bits: its bits 0 to 31, or 16 to 47."""
    wide = np.int64 if _signed(a) else np.uint64
    shift = a.dtype.type(8)
    x, y = ((v << shift) >> shift for v in (a, b))
    product = x.astype(wide) * y.astype(wide)
    result: Array = (product >> wide(16) if high else product).astype(a.dtype)
    return result if c is None else result + c


def divide(a: Array, b: Array) -> Array:
    """Truncating division. Division by zero gives all ones, as in sm_80 and sm_90 machine code."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b) if zero.any() else b
    if _signed(a):
        # NumPy floors; with magnitudes in unsigned arithmetic, INT_MIN / -1 is also correct.
        kind = _unsigned_type(a)
        quotient = np.abs(a).view(kind) // np.abs(safe).view(kind)
        negative = (a < 0) != (safe < 0)
        result = np.where(negative, np.negative(quotient), quotient).view(a.dtype)
    else:
        result = a // safe
    return np.where(zero, ~a.dtype.type(0), result) if zero.any() else result


def remainder(a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend; for a divisor of zero, the dividend."""
    zero = b == 0
    safe = np.where(zero, b.dtype.type(1), b) if zero.any() else b
    if _signed(a):
        kind = _unsigned_type(a)
        rest = np.abs(a).view(kind) % np.abs(safe).view(kind)
        result = np.where(a < 0, np.negative(rest), rest).view(a.dtype)
    elif safe.size == 1 and (int(safe.flat[0]) & (int(safe.flat[0]) - 1)) == 0:
        result = a & (safe - safe.dtype.type(1))  # a power of two: this is many times faster
    else:
        result = a % safe
    return np.where(zero, a, result) if zero.any() else result


def _amount(a: Array, shift: Array) -> Array:
    """A shift amount, clamped to the width, in the type of the shifted value."""
    clamped: Array = np.minimum(shift, np.uint32(width(a))).astype(a.dtype)
    return clamped


def shift_left(a: Array, shift: Array) -> Array:
    # NumPy defines a shift by the whole width: zero, or the sign to the right.
    shifted: Array = np.left_shift(a, _amount(a, shift))
    return shifted


def shift_right(a: Array, shift: Array) -> Array:
    shifted: Array = np.right_shift(a, _amount(a, shift))
    return shifted


def funnel_shift(left: bool, wrap: bool, low: Array, high: Array, shift: Array) -> Array:
    """Shift the 64 bits high:low; return the upper word for left, the lower for right."""
    both = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    n = (shift & np.uint32(31)) if wrap else np.minimum(shift, np.uint32(32))
    n = n.astype(np.uint64)
    moved = (both << n) >> np.uint64(32) if left else both >> n
    return moved.astype(np.uint32)


def field_extract(a: Array, position: Array, length: Array) -> Array:
    """`bfe`: a field, sign-extended from its own top bit for signed types."""
    size, kind = width(a), _unsigned_type(a)
    start = (position & np.uint32(0xFF)).astype(np.int64)
    count = (length & np.uint32(0xFF)).astype(np.int64)
    raw = a.view(kind)
    field = np.right_shift(raw, np.minimum(start, size).astype(kind))
    ones = _ones(kind, np.minimum(count, size))
    field = field & ones
    if _signed(a):
        top = np.minimum(start + count - 1, size - 1)
        sign = (np.right_shift(raw, np.maximum(top, 0).astype(kind)) & kind.type(1)) != 0
        field = np.where(
            sign & (count > 0), field | ~_ones(kind, _valid(start, count, size)), field
        )
    return field.astype(kind).view(a.dtype)


def _valid(start: Array, count: Array, size: int) -> Array:
    """The number of a field's bits that lie within the operand."""
    return np.clip(np.minimum(count, size - start), 0, size)


def _ones(kind: np.dtype[Any], count: Array) -> Array:
    """This many low bits set, up to the whole width."""
    size = 8 * kind.itemsize
    one = np.left_shift(kind.type(1), count.astype(kind))
    return np.where(count >= size, ~kind.type(0), one - kind.type(1)).astype(kind)


def field_insert(a: Array, b: Array, position: Array, length: Array) -> Array:
    """`bfi`: b with the low bits of a inserted at a position."""
    size, kind = width(a), a.dtype
    start = (position & np.uint32(0xFF)).astype(np.int64)
    count = (length & np.uint32(0xFF)).astype(np.int64)
    at = np.minimum(start, size).astype(kind)
    mask = np.left_shift(_ones(kind, np.minimum(count, size)), at)
    return (b & ~mask) | (np.left_shift(a, at) & mask)


def find_leading(as_shift: bool, a: Array) -> Array:
    """`bfind`: the position of the highest bit that is not a sign bit; all ones if there is
    none."""
    size, kind = width(a), _unsigned_type(a)
    raw = np.where(a < 0, ~a, a).view(kind) if _signed(a) else a
    found = size - 1 - leading_zeros(raw).astype(np.int64)
    result = np.where(found < 0, -1, size - 1 - found if as_shift else found)
    return result.astype(np.int32).view(np.uint32)


def leading_zeros(a: Array) -> Array:
    smeared = a.copy()
    shift = 1
    while shift < width(a):
        smeared |= smeared >> a.dtype.type(shift)
        shift *= 2
    zeros: Array = (width(a) - np.bitwise_count(smeared).astype(np.uint32)).astype(np.uint32)
    return zeros


def reverse(a: Array) -> Array:
    """The bits in reverse order."""
    out, kind = a.byteswap(), a.dtype.type
    for shift, mask in ((4, 0x0F), (2, 0x33), (1, 0x55)):
        keep = kind(int.from_bytes(bytes([mask]) * a.dtype.itemsize, "little"))
        out = ((out >> kind(shift)) & keep) | ((out & keep) << kind(shift))
    return out


def permute_bytes(a: Array, b: Array, selector: Array) -> Array:
    """`prmt`: four bytes selected from b:a by nibbles; a nibble's top bit replicates the sign."""
    both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
    out: Array = np.zeros((1, 1), np.uint32)
    for byte in range(4):
        nibble = selector >> np.uint32(4 * byte) & np.uint32(0xF)
        picked = both >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))
        picked = picked & np.uint64(0xFF)
        sign = np.where(picked >> np.uint64(7) != 0, np.uint64(0xFF), np.uint64(0))
        picked = np.where(nibble & np.uint32(8) != 0, sign, picked).astype(np.uint32)
        out = out | picked << np.uint32(8 * byte)
    return out


def permute_bytes_by(mode: str, a: Array, b: Array, c: Array) -> Array:
    """`prmt` in a named mode, which determines the selector from the last operand."""
    at = (c & np.uint32(3)).astype(np.int64)
    bytes_ = np.arange(4).reshape(4, *[1] * at.ndim)
    nibbles = {
        "f4e": bytes_ + at, "b4e": (at - bytes_) % 8, "rc8": bytes_ * 0 + at,
        "ecl": np.maximum(bytes_, at), "ecr": np.minimum(bytes_, at),
        "rc16": bytes_ % 2 + at % 2 * 2,
    }[mode]  # fmt: skip
    selector = (nibbles << 4 * bytes_).sum(0).astype(np.uint32)
    return permute_bytes(a, b, selector)


def pack(*parts: Array) -> Array:
    """Combine parts into one word, the first part lowest."""
    kind = np.dtype(f"u{parts[0].dtype.itemsize * len(parts)}")
    out = parts[0].astype(kind)
    for i, part in enumerate(parts[1:], 1):
        out = out | part.astype(kind) << kind.type(i * width(part))
    return out


def unpack(count: int, a: Array) -> tuple[Array, ...]:
    """The inverse of `pack`."""
    kind = np.dtype(f"u{a.dtype.itemsize // count}")
    size = a.dtype.type(8 * kind.itemsize)
    return tuple((a >> (a.dtype.type(i) * size)).astype(kind) for i in range(count))


def extend(wrap: bool, a: Array, position: Array) -> Array:
    """`szext`: the value below a bit position, sign-extended (signed) or zero-extended."""
    n = position & np.uint32(31) if wrap else np.minimum(position, np.uint32(32))
    shift = (np.uint32(32) - n).astype(a.dtype)
    return np.right_shift(np.left_shift(a, shift), shift)


def mask(wrap: bool, position: Array, length: Array) -> Array:
    """`bmsk`: this many set bits, starting at a position and cut off at the top."""
    if wrap:
        position, length = position & np.uint32(31), length & np.uint32(31)
    count = np.minimum(length, np.uint32(32))
    return np.left_shift(_ones(np.dtype(np.uint32), count), np.minimum(position, np.uint32(32)))


def find_nth_set(word: Array, base: Array, offset: Array) -> Array:
    """`fns`: the position of the n-th set bit from a base, upwards for n > 0, downwards for n <
    0."""
    word, base, offset = np.broadcast_arrays(word, base, offset)
    place = np.arange(32)
    is_set = (word[..., None] >> place.astype(np.uint32) & np.uint32(1)) != 0
    start = base.astype(np.int64)[..., None]
    up, down = is_set & (place >= start), is_set & (place <= start)
    from_below = np.cumsum(up, axis=-1)
    from_above = np.cumsum(down[..., ::-1], axis=-1)[..., ::-1]
    n = offset.astype(np.int64)[..., None]
    hit = np.where(n > 0, up & (from_below == n), down & (from_above == -n))
    hit = np.where(n == 0, is_set & (place == start), hit)
    found = np.where(hit.any(axis=-1), np.argmax(hit, axis=-1), 0xFFFFFFFF)
    return found.astype(np.uint32)


def saturated_sum(subtracts: bool, a: Array, b: Array) -> Array:
    """The sum or difference of s32, clamped to the range of s32."""
    wide = b.astype(np.int64)
    total = a.astype(np.int64) + (-wide if subtracts else wide)
    return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(np.int32)
