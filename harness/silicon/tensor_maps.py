"""Tensor maps: the parameters that cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col accept and
reject.

The rules are those of the CUDA driver API, "Tensor Map Object Management", and, where the
documentation is silent, those of an actual driver: reports/h100/tensor_maps.csv.gz and
tensor_maps_small_boxes.csv.gz each record which of 643 maps the driver accepts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ELEMENTS = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8,
    "bf16": 2, "f32_ftz": 4, "tf32": 4, "tf32_ftz": 4,
}  # fmt: skip
"""The bytes of each element type, in the order of the driver's CUtensorMapDataType."""
SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
"""The bytes in a row of the swizzle pattern, in the order of CUtensorMapSwizzle."""
FILLS = ("zero", "nan")
INTERLEAVES = ("none", "16B", "32B")
L2_PROMOTIONS = ("none", "64B", "128B", "256B")
FLOATS = ("f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz")
MOST_RANK, MOST_BOX, MOST_PIXELS, MOST_STEP, UNIT = 5, 256, 1024, 8, 16
_MOST_SIZE, _MOST_STRIDE = 1 << 32, 1 << 40
_MOST_BYTES = 232_448
"""The most bytes in a box, with each size divided by its step and rounded down. The driver (580, on
an H100) accepts 196,608 and rejects 262,144; the limit used here lies between them, and is the most
shared memory that a block can have."""
_CORNERS = {3: 15, 4: 7, 5: 4}  # rank → the bits of a corner's coordinate, without the sign


@dataclass(frozen=True)
class TensorLayout:
    """A tensor and a box of it; dimensions are listed innermost first, as in the driver's API.

    `element`: the type, by its name in PTX. `shape`: in elements. `strides`: in bytes, for all
    dimensions except the innermost; empty if there are no gaps between elements. `box`: in
    elements; with im2col the channels and pixels of a column. `steps`: the distance from one loaded
    element to the next, in each dimension. `lower` and `upper`: im2col's corners, one number for
    each dimension except channels and images.
    """

    element: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    strides: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2: str = "none"
    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def im2col(self) -> bool:
        return bool(self.lower or self.upper)

    @property
    def element_bytes(self) -> int:
        return ELEMENTS[self.element]

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """The stride of each dimension except the innermost."""
        if self.strides:
            return self.strides
        found = [self.element_bytes * self.shape[0]]
        for size in self.shape[1:-1]:
            found.append(found[-1] * size)
        return tuple(found[: self.rank - 1])

    @property
    def step_sizes(self) -> tuple[int, ...]:
        return self.steps or (1,) * self.rank

    @property
    def box_bytes(self) -> int:
        """The number of bytes reported to an mbarrier when a box has arrived."""
        if self.interleave != "none":
            unit = int(self.interleave[:-1])
            counts = [
                -(-size // step) for size, step in zip(self.box, self.step_sizes, strict=True)
            ]
            counts[-2] = 1
            return math.prod(counts) * unit
        count = self.box[0]
        for size, step in zip(
            self.box[1:], (1,) if self.im2col else self.step_sizes[1:], strict=True
        ):
            count *= -(-size // step)
        return count * self.element_bytes

    @property
    def extent(self) -> int:
        """The number of bytes that the tensor spans in memory, gaps included."""
        far = zip(self.shape[1:], self.byte_strides, strict=True)
        return self.shape[0] * self.element_bytes + sum((n - 1) * stride for n, stride in far)

    def refused(self) -> str:
        """The reason why the driver does not encode the map; empty if it does."""
        for what, name, known in (
            ("element", self.element, ELEMENTS), ("swizzle", self.swizzle, SWIZZLES),
            ("interleave", self.interleave, INTERLEAVES), ("fill", self.fill, FILLS),
            ("l2", self.l2, L2_PROMOTIONS),
        ):  # fmt: skip
            if name not in known:
                return f"{what} is `{name}`: known are {', '.join(known)}"
        return self._refused_sizes() or self._refused_box()

    def _refused_sizes(self) -> str:
        least = 3 if self.im2col or self.interleave != "none" else 1
        if not least <= self.rank <= MOST_RANK:
            return f"{self.rank} dimensions: from {least} to {MOST_RANK} can be had"
        if any(not 1 <= size <= _MOST_SIZE for size in self.shape):
            return f"shape {_listed(self.shape)}: each is from 1 to 2^32"
        strides = self.byte_strides
        if len(strides) != self.rank - 1:
            return (
                f"{len(strides)} strides for {self.rank} dimensions: all but the innermost have one"
            )
        unit = 32 if self.interleave == "32B" else UNIT
        for stride in strides:
            if stride % unit or not 0 <= stride < _MOST_STRIDE:
                return f"a stride of {stride} bytes: it is a multiple of {unit} below 2^40"
        if len(self.step_sizes) != self.rank or any(
            not 1 <= step <= MOST_STEP for step in self.step_sizes
        ):
            return f"steps {_listed(self.step_sizes)}: one a dimension, from 1 to {MOST_STEP}"
        if self.fill == "nan" and self.element not in FLOATS:
            return f"a fill of NaN for {self.element}, which is no floating-point type"
        return ""

    def _refused_box(self) -> str:
        if self.im2col:
            wanted = self.rank - 2
            if len(self.lower) != wanted or len(self.upper) != wanted:
                return f"lower and upper have {wanted} numbers for {self.rank} dimensions"
            limit = 1 << _CORNERS[self.rank]
            if any(not -limit <= each < limit for each in (*self.lower, *self.upper)):
                return f"lower and upper are from {-limit} to {limit - 1} in {self.rank} dimensions"
        wanted = 2 if self.im2col else self.rank
        if len(self.box) != wanted:
            return f"box {_listed(self.box)}: {wanted} numbers are wanted"
        for n, size in enumerate(self.box):
            most = MOST_PIXELS if self.im2col and n else MOST_BOX
            if not 1 <= size <= most:
                return f"box {_listed(self.box)}: each is from 1 to {most}"
        row, span = self.box[0] * self.element_bytes, SWIZZLES[self.swizzle]
        if row % UNIT:
            return f"a box whose rows have {row} bytes: they are a multiple of {UNIT}"
        if self.interleave == "none" and span and row > span:
            return f"a box whose rows have {row} bytes: a swizzle of {span} bytes takes no more"
        if not self.im2col:
            steps = zip(self.box, self.step_sizes, strict=True)
            held = self.element_bytes * math.prod(size // step for size, step in steps)
            if held > _MOST_BYTES:
                return f"a box of {held:,} bytes: it has {_MOST_BYTES:,} at most"
        return ""


def _listed(numbers: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, numbers)) + "]"
