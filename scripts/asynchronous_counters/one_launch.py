"""A launch of one of these kernels: its arguments, and the contents of memory before it.

This module needs only NumPy and a plain module of the harness, so that it runs on a minimal
machine.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.silicon.tensor_maps import TensorLayout

BYTES = 1 << 18
"""The size of `in`, of `out`, and of each tensor."""
NUMBERS = 6
_CODES = {
    "bf16": (np.uint16, (0x0000, 0x3F80, 0x4000, 0xBF80, 0xC000)),
    "e4m3": (np.uint8, (0x00, 0x38, 0x40, 0xB8, 0xC0)),
    "s8": (np.int8, (0, 1, 2, -1, -2)),
}
"""Type → the encodings of 0, 1, 2, -1 and -2, whose products have exact sums in any order."""
_FLOATS = {"f32": np.float32, "f64": np.float64, "tf32": np.float32}


@dataclass(frozen=True)
class Launch:
    """One launch. `maps`: the kernel's tensor maps, each for a separate tensor. `data`: the initial
    contents of `in`, `out` and the tensors, either random words or small numbers of a type.
    `shared`: bytes of dynamic shared memory."""

    file: str
    kernel: str
    numbers: tuple[int, ...] = ()
    grid: int = 1
    block: int = 32
    maps: tuple[TensorLayout, ...] = ()
    data: str = "words"
    shared: int = 40 << 10

    @property
    def scalars(self) -> tuple[int, ...]:
        return (*self.numbers, *(0,) * (NUMBERS - len(self.numbers)))

    @property
    def name(self) -> str:
        """A name made of everything that distinguishes this launch from its kernel's others."""
        numbers = ",".join(map(str, self.numbers))
        return " ".join([numbers, f"<{self.grid},{self.block}>", *map(shown, self.maps)])

    def buffers(self) -> list[np.ndarray]:
        """`in`, `out` and the tensors, as bytes."""
        return [_made(self.data, number).copy() for number in range(2 + len(self.maps))]


@cache
def _made(data: str, number: int) -> np.ndarray:
    """The bytes of a buffer before a launch."""
    draw = np.random.default_rng(zlib.crc32(f"{data} {number}".encode()))
    if data in _FLOATS:
        dtype = np.dtype(_FLOATS[data])
        return draw.integers(-2, 3, BYTES // dtype.itemsize).astype(dtype).view(np.uint8)
    if data in _CODES:
        code, values = _CODES[data]
        dtype = np.dtype(code)
        return np.array(values, dtype)[draw.integers(0, 5, BYTES // dtype.itemsize)].view(np.uint8)
    return draw.integers(0, 1 << 32, BYTES // 4, np.uint32).view(np.uint8)


def digest(buffers: list[np.ndarray]) -> str:
    """An eight-digit digest of all buffers that a launch may write."""
    found = 0
    for each in buffers[1:]:
        found = zlib.crc32(each.tobytes(), found)
    return f"{found:08x}"


def shown(map_: TensorLayout) -> str:
    lists = (map_.shape, map_.byte_strides, map_.box, map_.step_sizes, map_.lower, map_.upper)
    sizes = "/".join("x".join(map(str, each)) for each in lists)
    return f"{map_.element}:{sizes}:{map_.swizzle}:{map_.interleave}:{map_.l2}"
