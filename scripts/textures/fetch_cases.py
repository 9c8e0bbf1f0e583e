"""Cases of texture fetches, for the emulator and a GPU: kinds, formats, address modes, filters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).resolve().parents[2] / "tests" / "fidelity" / "textures" / "fetches.cu"
FETCHES = 96
"""The number of fetches per case."""
NAMES = {
    "1d": "line", "2d": "plane", "3d": "volume", "layered 1d": "layered_line",
    "layered 2d": "layered_plane", "cube": "cube", "memory": "memory",
}  # fmt: skip
"""The name of each kind in fetches.cu; `memory` is linear memory, which `tex1Dfetch` reads."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Image:
    """The format of a texture or surface. Everything in a case is derived from the case's
    number."""

    number: int
    kind: str
    dtype: str
    channels: int


@dataclass(frozen=True)
class Case(Image):
    """A texture and its fetches."""

    address: tuple[str, str, str]
    linear: bool
    normalized: bool
    fractions: bool

    @property
    def name(self) -> str:
        words = [self.kind, self.dtype, f"x{self.channels}", "/".join(self.address)]
        words += ["linear"] * self.linear + ["normalized"] * self.normalized
        return " ".join([*words, *["fractions"] * self.fractions])

    @property
    def floats(self) -> bool:
        """Return whether a fetch returns floats."""
        return self.fractions or self.dtype.startswith("float")

    @property
    def kernel(self) -> str:
        return f"{NAMES[self.kind]}_{'floats' if self.floats else 'bits'}"

    @property
    def extent(self) -> tuple[int, int, int]:
        """Width, height, and depth, layers or faces."""
        return {
            "1d": (13, 1, 1), "2d": (13, 7, 1), "3d": (13, 7, 5), "layered 1d": (13, 1, 5),
            "layered 2d": (13, 7, 5), "cube": (9, 9, 6), "memory": (37, 1, 1),
        }[self.kind]  # fmt: skip

    def texels(self) -> Array:
        """Make the texels, shaped (depth, height, width, channels)."""
        rng = np.random.default_rng(self.number)
        shape = (*reversed(self.extent), self.channels)
        if self.dtype.startswith("float"):
            return rng.uniform(-4, 4, shape).astype(self.dtype)
        limits = np.iinfo(self.dtype)
        return rng.integers(limits.min, limits.max, shape, self.dtype, endpoint=True)

    def coordinates(self) -> Array:
        """Generate coordinates, shaped (3, FETCHES), float32: inside and outside the image, on
        texel borders and at texel centres."""
        rng = np.random.default_rng(1000 + self.number)
        found = np.empty((3, FETCHES), np.float32)
        if self.kind == "cube":
            return rng.uniform(-1, 1, found.shape).astype(np.float32)
        for axis, size in enumerate(self.extent):
            anywhere = rng.uniform(-1.5 * size, 2.5 * size, FETCHES)
            on_halves = rng.integers(-2 * size, 4 * size, FETCHES) / 2
            in_eighths = rng.integers(-256, 256 * (size + 1), FETCHES) / 256
            pick = rng.integers(0, 3, FETCHES)
            found[axis] = np.choose(pick, [anywhere, on_halves, in_eighths])
            if self.normalized:
                found[axis] /= np.float32(size)
        if self.kind.startswith("layered"):
            found[2] = rng.integers(0, self.extent[2] + 2, FETCHES)
        return found


def cases() -> Iterator[Case]:
    for number, (kind, *rest) in enumerate(_listed()):
        yield Case(number, kind, *rest)


Mode = Literal["clamp", "border", "wrap", "mirror"]


def _listed() -> Iterator[tuple[Any, ...]]:
    def alike(mode: str) -> tuple[str, str, str]:
        return mode, mode, mode

    for kind in NAMES:
        if kind == "memory":
            yield kind, "float32", 1, alike("clamp"), False, False, False
            yield kind, "uint8", 4, alike("clamp"), False, False, True
            yield kind, "int32", 2, alike("clamp"), False, False, False
            continue
        if kind == "cube":
            for linear in (False, True):
                yield kind, "float32", 1, alike("clamp"), linear, True, False
            continue
        for linear in (False, True):
            for mode in ("clamp", "border"):
                yield kind, "float32", 1, alike(mode), linear, False, False
            for mode in ("clamp", "border", "wrap", "mirror"):
                yield kind, "float32", 1, alike(mode), linear, True, False
        yield kind, "float16", 4, ("wrap", "mirror", "clamp"), True, True, False
        yield kind, "float32", 2, ("mirror", "border", "wrap"), True, True, False
        for dtype in ("uint8", "int8", "uint16", "int16"):
            yield kind, dtype, 1, alike("clamp"), True, False, True
            yield kind, dtype, 4, alike("clamp"), False, False, True
        for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
            yield kind, dtype, 2, alike("border"), False, False, False
