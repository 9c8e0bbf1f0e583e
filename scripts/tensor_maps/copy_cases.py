"""Tensor-map copies, for `copies_on_gpu.py` and the tests.

NVIDIA's documentation does not say what these copies do. They cover element types that convert,
such as tf32, the NaN that is filled in, reductions of special numbers, swizzled rows that are
shorter than the pattern, interleaved tensors, and boxes at every alignment and beyond every edge.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.silicon.tensor_maps import SWIZZLES, TensorLayout

BYTES = 1 << 18
"""The size of the tensor's buffer in bytes."""
ROOM = 16384
"""How many bytes of shared memory a kernel of copies.cu records, or is given."""
_NUMBERS, _DRAWS = 256, 5
_DTYPES = {"f16": np.uint16, "bf16": np.uint16, "f64": np.uint64}
_FIRST_OF_BOX = 1 << 24
"""The lowest of the distinct numbers in a box to be stored; those in the tensor begin at 0."""
FLOATS = ("f32", "f32_ftz", "tf32", "tf32_ftz")
BULK = ("min_f16", "max_f16", "min_bf16", "max_bf16", "add_f16", "add_bf16", "add_f32", "add_f64")


@dataclass(frozen=True)
class Case:
    """`operation`: a prefix of a kernel's name in copies.cu, or `bulk_min_f16` etc. for a reduction
    without a map. `at`: the box's coordinates. `draw`: the seed of special numbers; None for
    distinct numbers, so that each byte of the result shows where it came from."""

    operation: str
    layout: TensorLayout
    at: tuple[int, ...] = ()
    draw: int | None = None

    @property
    def kernel(self) -> str:
        if self.operation.startswith("bulk"):
            return self.operation
        return f"{self.operation}_{self.layout.rank}"

    @property
    def loads(self) -> bool:
        return self.operation == "load"

    @property
    def name(self) -> str:
        one = self.layout
        lists = "/".join(
            "x".join(map(str, each))
            for each in (one.shape, one.strides, one.box, one.steps, self.at)
        )
        modes = f"{one.swizzle} {one.interleave} {one.fill}"
        return f"{self.kernel} {one.element} {lists} {modes} {self.draw}"

    def tensor(self) -> np.ndarray:
        """The tensor's buffer before the copy, as bytes."""
        if self.draw is None:
            return np.arange(BYTES // 4, dtype=np.uint32).view(np.uint8)
        drawn = _special(self.layout.element, f"tensor {self.draw}")
        out = np.zeros(BYTES, np.uint8)
        out[: drawn.nbytes] = drawn.view(np.uint8)
        return out

    def box(self) -> np.ndarray:
        """Shared memory before a store, as bytes."""
        if self.draw is None:
            return (_FIRST_OF_BOX + np.arange(ROOM // 4, dtype=np.uint32)).view(np.uint8)
        drawn = _special(self.layout.element, f"box {self.draw}")
        out = np.zeros(ROOM, np.uint8)
        out[: drawn.nbytes] = drawn.view(np.uint8)
        return out


_FIELDS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
"""Type → the numbers of exponent bits and of fraction bits."""


def _special(element: str, seed: str) -> np.ndarray:
    """Draw numbers of a type as bits: exponents and fractions are often at an end of their range,
    and always with the last seed, so that pairs such as two zeros or two NaNs occur."""
    exponent_bits, fraction_bits = _FIELDS.get(element, _FIELDS["f32"])
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    most, whole = (1 << exponent_bits) - 1, (1 << fraction_bits) - 1
    middle = most >> 1
    low = (1 << max(0, fraction_bits - 10)) - 1  # the bits that tf32 lacks
    half = low >> 1
    exponents = (0, 0, 1, 2, middle - 1, middle, middle, middle + 1, most - 1, most)
    fractions = (0, 1, whole, whole >> 1, (whole >> 1) + 1, low, half, half + 1, whole - low)
    only_ends = seed.endswith(str(_DRAWS - 1))
    out = []
    for _ in range(_NUMBERS):
        exponent = int(rng.choice((0, middle, most) if only_ends else exponents))
        fraction = int(rng.choice((0, 1) if only_ends else fractions))
        if not only_ends and rng.random() < 0.3:
            exponent = int(rng.integers(most + 1))
        if not only_ends and rng.random() < 0.5:
            fraction = int(rng.integers(whole + 1))
        elif not only_ends and rng.random() < 0.3:
            fraction = int(rng.integers(whole + 1)) & ~low | int(
                rng.choice((0, half, half + 1, low))
            )
        sign = int(rng.integers(2))
        out.append(sign << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction)
    return np.array(out, _DTYPES.get(element, np.uint32))


def cases() -> list[Case]:
    return [*_conversions(), *_fills(), *_short_rows(), *_outside(), *_interleaved()]


def _conversions() -> Iterator[Case]:
    for operation in ("load", "store", "add", "min", "max"):
        for element in (
            FLOATS if operation in ("load", "store") else (*FLOATS, "f16", "bf16", "f64")
        ):
            layout = TensorLayout(element, (_NUMBERS,), (_NUMBERS,))
            yield from (Case(operation, layout, (0,), draw) for draw in range(_DRAWS))
    for name in BULK:
        layout = TensorLayout(name.split("_")[1], (_NUMBERS,), (_NUMBERS,))
        yield from (Case(f"bulk_{name}", layout, (0,), draw) for draw in range(_DRAWS))


def _fills() -> Iterator[Case]:
    for element, fill in product((*FLOATS, "f16", "bf16", "f64"), ("zero", "nan")):
        yield Case("load", TensorLayout(element, (64,), (32,), fill=fill), (48,), 0)


def _short_rows() -> Iterator[Case]:
    """Boxes whose rows are shorter than the swizzle's pattern."""
    for swizzle, span in SWIZZLES.items():
        for row in range(16, span, 16):
            flat = TensorLayout("u8", (192, 40), (row, 20), (256,), swizzle=swizzle)
            deep = TensorLayout("u8", (192, 6, 40), (row, 3, 7), (256, 4096), swizzle=swizzle)
            for operation in ("load", "store"):
                yield Case(operation, flat, (16, 4))
                yield Case(operation, flat, (184 - row + 16, -3))
                yield Case(operation, deep, (32, 1, 5))
                yield Case(operation, deep, (-8, 4, 36))


def _outside() -> Iterator[Case]:
    """Boxes that are partly or entirely outside the tensor, and boxes at every alignment."""
    for element, swizzle in product(("u8", "u16", "f32"), ("none", "32B")):
        size = {"u8": 1, "u16": 2, "f32": 4}[element]
        layout = TensorLayout(element, (64, 20), (32 // size, 8), (256,), swizzle=swizzle)
        for operation in ("load", "store", *(("add",) if element == "f32" else ())):
            for x, y in (
                (-64, 4), (-32, 4), (-16, 4), (-1, 4), (1, 4), (4, 4), (15, 4), (16, 4), (56, 4),
                (63, 4), (64, 4), (80, 4), (16, -8), (16, -3), (16, -1), (16, 15), (16, 20),
                (16, 90), (80, 30), (-31, -7), (63, 19), (-1, -1),
            ):  # fmt: skip
                yield Case(operation, layout, (x, y))


def _interleaved() -> Iterator[Case]:
    for interleave, element, rank in product(("16B", "32B"), ("u8", "u16", "f32"), (3, 4, 5)):
        unit, size = int(interleave[:2]), {"u8": 1, "u16": 2, "f32": 4}[element]
        channels = unit // size  # of a slice
        shape = (24, 5, 3)[: rank - 2]
        strides = (1024, 6144)[: rank - 3]
        layout = TensorLayout(
            element, (*shape, 5, 2), (16 // size, *(2, 3)[: rank - 3], 1, 1),
            (*strides, 24576, 130048), interleave=interleave,
            swizzle="32B" if interleave == "32B" else "none",
        )  # fmt: skip
        slices = layout.shape[-2]
        for depth in (1, 3 * channels):
            one = replace(layout, box=(*layout.box[:-2], depth, layout.box[-1]))
            for at in (
                (0, 0, 0, 0, 0), (3, 1, 1, 1, 1), (18, 4, 2, 2, 0), (-2, -1, -1, 0, 1),
                (0, 0, 0, -1, 0), (1, 0, 0, 3, 0), (0, 0, 0, slices - 1, 0), (2, 1, 1, slices, 0),
                (0, 0, 0, 0, 2), (-2, 0, 0, 0, 0),
            ):  # fmt: skip
                place = (*at[: rank - 2], *at[3:])
                yield Case("load", one, place)
                if depth != 1:
                    yield Case("store", one, place)
        wide = replace(layout, box=(32 // size, *layout.box[1:-2], channels, 2))
        yield Case("load", wide, (0,) * rank)
        yield Case("load", replace(wide, steps=(2,) * (rank - 2) + (1, 1)), (0,) * rank)
