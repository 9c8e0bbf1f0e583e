"""Textures and surfaces, which are passed to a launch instead of handles.

CUDA C++ Programming Guide, "Texture and Surface Memory", defines them and how coordinates map to
texels. The layout of texels in a GPU's memory is undocumented, so texels have no addresses, and
accesses to them are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.emulator.errors import LaunchError, shown

Array = NDArray[Any]
Kind = Literal["1d", "2d", "3d", "layered 1d", "layered 2d", "cube"]
Mode = Literal["clamp", "border", "wrap", "mirror"]

KINDS = ("1d", "2d", "3d", "layered 1d", "layered 2d", "cube")
MODES = ("clamp", "border", "wrap", "mirror")
FORMATS = tuple(map(np.dtype, ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4")))
FIRST_HANDLE = 1 << 48 | 1 << 30
"""The first handle of a launch's textures and surfaces, which are numbered in argument order.

Machine code uses only the lower half of a handle, so this half must not be null either."""
_AXES = {"1d": 1, "2d": 2, "3d": 3, "layered 1d": 2, "layered 2d": 3, "cube": 3}
_FILTERED = {"1d": 1, "layered 1d": 1, "2d": 2, "layered 2d": 2, "cube": 2}
"""The number of axes that have an address mode."""
_MOST = 1 << 17
"""The maximum number of texels along an axis. A one-dimensional texture of linear memory holds as
many as fit."""


@dataclass(frozen=True, eq=False)
class Texture:
    """A texture object: an array of texels, and how they are fetched.

    `texels`: in the shape of `kind`, whose last axis runs along a row: (width,), (height, width),
    (depth, height, width), (layers, width), (layers, height, width) or (6, size, size); 2 or 4
    `channels` add one more trailing axis. `address`: one mode, or one for each of x, y and z.
    `filter`: "linear" interpolates between neighbours, if a fetch gives floats. `normalized`:
    coordinates go from 0 to 1. `fractions`: integers are read as floats from 0 or -1 to 1. Fetches
    read level 0.
    """

    texels: Array
    kind: Kind = "2d"
    channels: int = 1
    address: Mode | Sequence[Mode] = "clamp"
    filter: Literal["point", "linear"] = "point"
    normalized: bool = False
    fractions: bool = False

    def described(self, label: str) -> Described:
        """Describe a texture. Raises LaunchError if the settings are not valid."""
        given = self.address
        modes = [given] * _FILTERED.get(self.kind, 3) if isinstance(given, str) else [*given]
        modes += ["clamp"] * (3 - len(modes))
        if len(modes) != 3 or not set(modes) <= set(MODES):
            raise LaunchError(f"{label}: address is {shown(self.address)}: known are {MODES}")
        if self.filter not in ("point", "linear"):
            raise LaunchError(f"{label}: filter is {shown(self.filter)}: point or linear")
        size = _size(label, self.texels, self.kind, self.channels)
        if self.fractions and self.texels.itemsize > 2:
            raise LaunchError(f"{label}: integers of 8 and 16 bits alone are read as fractions")
        if self.filter == "linear" and not (self.texels.dtype.kind == "f" or self.fractions):
            raise LaunchError(f"{label}: integers are filtered only if they are read as fractions")
        return Described(
            self, size, tuple(modes), self.filter == "linear", bool(self.normalized),
            bool(self.fractions),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface object: an array of texels that a kernel loads and stores in place.

    texels, kind and channels are as in Texture; a cube cannot be a surface. Races are not detected.
    """

    texels: Array
    kind: Kind = "2d"
    channels: int = 1

    def described(self, label: str) -> Described:
        """Describe a surface. Raises LaunchError if the settings are not valid."""
        if self.kind == "cube" or not (isinstance(self.texels, np.ndarray)
                                       and self.texels.flags.writeable):  # fmt: skip
            raise LaunchError(f"{label}: a surface is an array that may be written, and no cube")
        return Described(self, _size(label, self.texels, self.kind, self.channels))


@dataclass(frozen=True)
class Described:
    """A checked texture or surface. `size`: width, height, and depth or layers."""

    what: Texture | Surface
    size: tuple[int, int, int]
    address: tuple[Mode, ...] = ("clamp", "clamp", "clamp")
    linear: bool = False
    normalized: bool = False
    fractions: bool = False

    def copied(self) -> Described:
        """Return a copy, with its own texels if a kernel may store to them."""
        if isinstance(self.what, Texture):
            return self
        return replace(self, what=replace(self.what, texels=self.what.texels.copy()))


def _size(label: str, texels: Any, kind: Any, channels: Any) -> tuple[int, int, int]:
    """Width, height, and depth or layers."""
    if kind not in KINDS:
        raise LaunchError(f"{label}: kind is {shown(kind)}: known are {', '.join(KINDS)}")
    if type(channels) is not int or channels not in (1, 2, 4):
        raise LaunchError(f"{label}: channels is {shown(channels)}: give 1, 2 or 4")
    if not isinstance(texels, np.ndarray) or texels.dtype not in FORMATS:
        known = ", ".join(each.name for each in FORMATS)
        raise LaunchError(f"{label}: its texels are {shown(texels)}: give an array of {known}")
    axes = texels.shape[:-1] if channels > 1 else texels.shape
    right = len(axes) == _AXES[kind] and (channels == 1 or texels.shape[-1] == channels)
    if not right or not texels.size or (kind == "cube" and (axes[0], axes[1]) != (6, axes[2])):
        raise LaunchError(
            f"{label}: texels of shape {texels.shape} are no {kind} texture of {channels} channels"
        )
    if max(axes) > _MOST and kind != "1d":
        raise LaunchError(f"{label}: {max(axes)} texels along an axis; at most {_MOST}")
    if not texels.flags.c_contiguous:
        raise LaunchError(f"{label}: its texels are not contiguous; np.ascontiguousarray(...)")
    width = axes[-1]
    height = axes[-2] if kind in ("2d", "3d", "layered 2d", "cube") else 1
    depth = axes[0] if kind not in ("1d", "2d") else 1
    return width, height, depth
