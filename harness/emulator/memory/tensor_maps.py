"""Tensor maps, passed to a launch in place of a CUtensorMap.

NVIDIA does not document the 128 bytes of a CUtensorMap. For tiled maps, the emulator encodes the
same bytes as a driver: reports/h100/tensor_maps.csv.gz and tensor_maps_small_boxes.csv.gz contain a
driver's bytes for 820 maps. A driver's bytes for im2col maps were not read; for these, the emulator
uses bytes that are zero in tiled maps.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown
from harness.emulator.program.tensor_map_fields import BYTES, TF32, Part, parts
from harness.silicon.tensor_maps import (
    FILLS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SWIZZLES,
    UNIT,
    TensorLayout,
)

Array = NDArray[Any]

ALIGNMENT = 64
_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32_ftz", "f64", "bf16")
"""The element types in the order of their numbers in a map, except those that round to TF32."""
_BOX_BYTES_AT, _ATOM_AT, _PIXELS_AT = 64, 72, 80
"""The first two positions are where a driver stores the bytes of a box and the alignment of its
swizzle. At the third, the emulator stores the number of pixels in a column and the corners."""
_L2 = Part(8, 17, 2)
_ROWS_OF_AN_ATOM = 8
_OF_DTYPES = {
    "u1": "u8", "i1": "u8", "u2": "u16", "i2": "u16", "u4": "u32", "i4": "s32", "u8": "u64",
    "i8": "s64", "f2": "f16", "f4": "f32", "f8": "f64",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor in an array's memory, and the shape of the box that a copy moves.

    Dimensions are listed innermost first, as in the driver's API.

    `array`: where the tensor begins. `box`: the elements of a box in each dimension; for im2col,
    the channels of a pixel and the pixels of a column. `shape`: the tensor's shape; by default the
    array's shape, reversed. `strides`: in bytes, for all dimensions except the innermost; by
    default without gaps. `element`: the element type; by default the array's; "bf16" if 16-bit
    integers hold the bits. `steps`: the distance from one loaded element to the next. `swizzle`:
    "none", "32B", "64B" or "128B". `fill`: "zero" or "nan", for elements outside the tensor.
    `lower`, `upper`: the corners of the im2col pixel box, for each dimension except channels and
    images. `offset`: where in the array the tensor begins, in elements.
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
        return "interleaved tensors with im2col are not executed: NVIDIA does not document them"
    return ""


def encoded(layout: TensorLayout, address: int) -> bytes:
    """Encode a map in 128 bytes."""
    out = bytearray(BYTES)

    def put(value: int, *where: Part) -> None:
        for part in where:
            word = int.from_bytes(out[part.at : part.at + 4], "little")
            word |= (value >> part.of & (1 << part.bits) - 1) << part.low
            out[part.at : part.at + 4] = word.to_bytes(4, "little")

    element = layout.element
    put(address, *parts("global_address", 0))
    put(layout.rank - 1, *parts("rank", 0))
    put(_TYPES.index(element.replace("tf32", "f32")), *parts("elemtype", 0))
    put(int(element.startswith("tf32")), TF32)
    put(INTERLEAVES.index(layout.interleave), *parts("interleave_layout", 0))
    put(list(SWIZZLES).index(layout.swizzle), *parts("swizzle_mode", 0))
    put(FILLS.index(layout.fill), *parts("fill_mode", 0))
    put(L2_PROMOTIONS.index(layout.l2), _L2)
    for number, stride in enumerate(layout.byte_strides):
        put(stride, *parts("global_stride", number))
    box = layout.box[:1] if layout.im2col else layout.box
    fields = (("global_dim", layout.shape), ("element_stride", layout.step_sizes), ("box_dim", box))
    for field, numbers in fields:
        for number, each in enumerate(numbers):
            put(each - 1, *parts(field, number))
    if layout.im2col:
        corners = [[*each, 0, 0][:3] for each in (layout.lower, layout.upper)]
        struct.pack_into("<I3h3h", out, _PIXELS_AT, layout.box[1], *corners[0], *corners[1])
        return bytes(out)
    counted = [size // step for size, step in zip(layout.box, layout.step_sizes, strict=True)]
    put(math.prod(counted) * layout.element_bytes, Part(_BOX_BYTES_AT))
    put(_ROWS_OF_AN_ATOM * SWIZZLES[layout.swizzle] or UNIT, Part(_ATOM_AT))
    return bytes(out)


def _whole(what: str, numbers: Any) -> tuple[int, ...]:
    if isinstance(numbers, (str, bytes)) or not isinstance(numbers, Sequence):
        raise LaunchError(f"{what} is {shown(numbers)}: give a list of integers")
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers):
        raise LaunchError(f"{what} is {shown(numbers)}: give a list of integers")
    return tuple(int(n) for n in numbers)
