"""Boxes of tensors, element by element, according to "Tensors" in the PTX manual."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def places(
    shape: Sequence[int], strides: Sequence[int], box: Sequence[int], steps: Sequence[int],
    at: Sequence[int],
) -> list[int | None]:  # fmt: skip
    """The byte offset of each element of a tile, innermost first; None outside the tensor."""
    counts = [box[0], *(-(-n // s) for n, s in zip(box[1:], steps[1:], strict=True))]
    out: list[int | None] = []
    for reversed_index in product(*(range(n) for n in reversed(counts))):
        index = reversed_index[::-1]
        place = [a + i * s for a, i, s in zip(at, index, [1, *steps[1:]], strict=True)]
        inside = all(0 <= p < n for p, n in zip(place, shape, strict=True))
        out.append(sum(p * s for p, s in zip(place, strides, strict=True)) if inside else None)
    return out


def pixels(
    shape: Sequence[int], strides: Sequence[int], channels: int, count: int,
    lower: Sequence[int], upper: Sequence[int], steps: Sequence[int], at: Sequence[int],
    offsets: Sequence[int],
) -> list[int | None]:  # fmt: skip
    """The offsets for a column of pixels: every base pixel of the pixel box in order, starting at a
    given one."""
    inner = len(shape) - 2
    ranges = [range(low, n + up, s) for low, up, n, s in
              zip(lower, upper, shape[1:-1], steps[1:-1], strict=True)]  # fmt: skip
    images = range(at[-1], at[-1] + count + 1)
    bases = [each[::-1] for each in product(images, *reversed(ranges))]
    first = bases.index(tuple(at[1:]))
    out: list[int | None] = []
    for base in bases[first : first + count]:
        for channel in range(at[0], at[0] + channels):
            moved = [base[d] + (offsets[d] if d < inner else 0) for d in range(inner + 1)]
            place = [channel, *moved]
            inside = all(0 <= p < n for p, n in zip(place, shape, strict=True))
            out.append(sum(p * s for p, s in zip(place, strides, strict=True)) if inside else None)
    return out


def in_shared(count: int, element: int, span: int, base: int = 0) -> list[int]:
    """The position of each element of a box: with a swizzle of `span` bytes, the 16-byte units of a
    row are permuted according to the number of their 128-byte row."""
    out = []
    for n in range(count):
        at = base + n * element
        unit, row = at // 16 % 8, at // 128
        units = span // 16
        if span:
            unit = unit // units * units + (unit % units ^ row % units)
        out.append(row * 128 + unit * 16 + at % 16)
    return out


def loaded(tensor: bytes, found: list[int | None], element: int, filled: bytes) -> list[bytes]:
    return [filled if p is None else tensor[p : p + element] for p in found]


def of_bytes(elements: list[bytes], where: list[int]) -> Array:
    """Shared memory with elements at the given positions, and zeros elsewhere."""
    size = len(elements[0])
    out = np.zeros(max(where) + size, np.uint8)
    for value, at in zip(elements, where, strict=True):
        out[at : at + size] = np.frombuffer(value, np.uint8)
    return out
