"""Tensor maps, passed to a launch in place of a CUtensorMap.

NVIDIA does not document the 128 bytes of a CUtensorMap, so the emulator has a format of its own:
the same numbers, in the order of `machine/memory/tensors/tensor_map.h`. A kernel never reads these
bytes, and changes them only through `tensormap.replace`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown
from harness.emulator.program.tensor_map_fields import BYTES
from harness.silicon.tensor_maps import (
    ELEMENTS,
    FILLS,
    INTERLEAVES,
    MOST_RANK,
    SWIZZLES,
    TensorLayout,
)

Array = NDArray[Any]

ALIGNMENT, MARK = 64, 0x616D6E74
_BYTES = struct.Struct("<IIQ4q5I5I5I3h3hIBBBB")
assert _BYTES.size == BYTES
_OF_DTYPES = {
    "u1": "u8", "i1": "u8", "u2": "u16", "i2": "u16", "u4": "u32", "i4": "s32", "u8": "u64",
    "i8": "s64", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor in an array's memory, and the shape of the box that a copy moves.

    Dimensions are listed innermost first, as in the driver's API.

    array: where the tensor begins. box: the elements of a box in each dimension; for im2col, the
    channels of a pixel and the pixels of a column. shape: the tensor's; by default the array's own,
    reversed. strides: bytes, of all dimensions but the innermost; by default without gaps. element:
    by default the array's type; "bf16" for bits in 16-bit integers. steps: the distance from one
    loaded element to the next. swizzle: "none", "32B", "64B" or "128B". fill: "zero" or "nan", for
    elements outside the tensor. lower, upper: the corners of the im2col pixel box, for each
    dimension but channels and images. offset: where in the array the tensor begins, in elements.
    """

    array: Array
    box: Sequence[int]
    shape: Sequence[int] = ()
    strides: Sequence[int] = ()
    element: str = ""
    steps: Sequence[int] = ()
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2: str = "none"
    lower: Sequence[int] = ()
    upper: Sequence[int] = ()
    offset: int = 0

    def layout(self, label: str) -> TensorLayout:
        """Describe the map for the driver. Raises LaunchError if it cannot be encoded or
        executed."""
        if not isinstance(self.array, np.ndarray) or self.array.dtype.str[1:] not in _OF_DTYPES:
            raise LaunchError(f"{label}: a tensor map is of an array of numbers")
        lists = {
            name: _whole(f"{label}: {name}", getattr(self, name))
            for name in ("box", "strides", "steps", "lower", "upper")
        }
        shape = self.shape if len(self.shape) else self.array.shape[::-1]
        found = TensorLayout(
            element=self.element or _OF_DTYPES[self.array.dtype.str[1:]],
            shape=_whole(f"{label}: shape", shape), swizzle=self.swizzle,
            interleave=self.interleave, fill=self.fill, l2=self.l2, **lists,
        )  # fmt: skip
        if why := found.refused() or not_executed(found):
            raise LaunchError(f"{label}: {why}")
        if found.element_bytes != self.array.itemsize:
            raise LaunchError(
                f"{label}: elements of {found.element} in an array of {self.array.dtype}"
            )
        return found

    def encoded(self, label: str, address: int) -> bytes:
        """Encode the map for a kernel, with the tensor at an address. Raises LaunchError."""
        layout = self.layout(label)
        first = address + self.offset * self.array.itemsize
        unit = 32 if layout.interleave == "32B" else 16
        if first % unit:
            raise LaunchError(f"{label}: the tensor begins at {first:#x}, no multiple of {unit}")
        return encoded(layout, first)


def not_executed(layout: TensorLayout) -> str:
    """The reason why a map that the driver encodes cannot be executed here; empty if it can."""
    if layout.interleave != "none" and layout.im2col:
        return "interleaved tensors with im2col are not supported"
    return ""


def encoded(layout: TensorLayout, address: int) -> bytes:
    """Encode a map in the emulator's own 128 bytes."""
    elements = list(ELEMENTS)

    def padded(numbers: Sequence[int], count: int, fill: int = 0) -> list[int]:
        return [*numbers, *[fill] * (count - len(numbers))]

    return _BYTES.pack(
        MARK, layout.rank, address, *padded(layout.byte_strides, MOST_RANK - 1),
        *padded([size - 1 for size in layout.shape], MOST_RANK), *padded(layout.box, MOST_RANK, 1),
        *padded(layout.step_sizes, MOST_RANK, 1), *padded(layout.lower, 3),
        *padded(layout.upper, 3),
        elements.index(layout.element), list(SWIZZLES).index(layout.swizzle),
        FILLS.index(layout.fill), int(layout.im2col), INTERLEAVES.index(layout.interleave),
    )  # fmt: skip


def _whole(what: str, numbers: Any) -> tuple[int, ...]:
    if isinstance(numbers, (str, bytes)) or not isinstance(numbers, Sequence):
        raise LaunchError(f"{what} is {shown(numbers)}: give a list of integers")
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
        raise LaunchError(f"{what} is {shown(numbers)}: give a list of integers")
    return tuple(int(n) for n in numbers)
