"""Cases of surface loads and stores, for the emulator and a GPU, inside and outside the surface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fetch_cases
import numpy as np
from fetch_cases import NAMES, Array, Image

SOURCE = fetch_cases.SOURCE.with_name("accesses.cu")
ACCESSES = 48
"""Accesses per case: this many loads, followed by as many stores."""
KINDS = ("1d", "2d", "3d", "layered 1d", "layered 2d")


@dataclass(frozen=True)
class Case(Image):
    """A surface and its accesses. `bytes`: the size of each access."""

    bytes: int
    clamp: bool

    @property
    def name(self) -> str:
        beyond = "clamp" if self.clamp else "zero"
        return f"{self.kind} {self.dtype} x{self.channels} by {self.bytes} {beyond}"

    @property
    def kernel(self) -> str:
        """The kernel's name in accesses.cu, without `_loads` or `_stores`."""
        return f"{NAMES[self.kind]}_{self.bytes}"

    @property
    def extent(self) -> tuple[int, int, int]:
        """Width, height and depth or layers."""
        return {
            "1d": (8, 1, 1), "2d": (8, 3, 1), "3d": (8, 3, 3), "layered 1d": (8, 1, 3),
            "layered 2d": (8, 3, 3),
        }[self.kind]  # fmt: skip

    def texels(self) -> Array:
        """Make the texels, shaped (depth, height, width, channels), of random bits."""
        shape = (*reversed(self.extent), texel_bytes(self.dtype, self.channels))
        drawn = np.random.default_rng(self.number).integers(0, 256, shape, np.uint8)
        return drawn.view(self.dtype)

    def values(self) -> Array:
        """Generate the bytes to store, shaped (ACCESSES, bytes)."""
        rng = np.random.default_rng(1000 + self.number)
        return rng.integers(0, 256, (ACCESSES, self.bytes), np.uint8)

    def places(self) -> Array:
        """Generate the positions, shaped (3, ACCESSES), int32: bytes from the left, rows, and
        slices or layers."""
        rng = np.random.default_rng(2000 + self.number)
        width, height, depth = self.extent
        row = width * texel_bytes(self.dtype, self.channels) // self.bytes
        sizes = (row, height, depth)
        found = [rng.integers(-2, size + 2, ACCESSES) for size in sizes]
        found[0] *= self.bytes
        return np.array(found, np.int32)


def texel_bytes(dtype: str, channels: int) -> int:
    return channels * np.dtype(dtype).itemsize


def cases() -> Iterator[Case]:
    for number, listed in enumerate(_listed()):
        yield Case(number, *listed)


def _listed() -> Iterator[tuple[Any, ...]]:
    whole = (("uint8", 1), ("uint8", 2), ("int16", 1), ("uint8", 4), ("float16", 2), ("float32", 1),
             ("int16", 4), ("uint32", 2), ("float32", 4))  # fmt: skip
    for kind in KINDS:
        for dtype, channels in whole:
            for clamp in (True, False):
                yield kind, dtype, channels, texel_bytes(dtype, channels), clamp
        # Accesses whose size differs from a texel's.
        for dtype, channels, size in (("uint8", 4, 1), ("uint32", 2, 4), ("uint8", 1, 4),
                                      ("float32", 1, 16)):  # fmt: skip
            for clamp in (True, False):
                yield kind, dtype, channels, size, clamp
