"""The threads of a launch as rows of arrays, and laid out by warp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
WARP = 32


@dataclass(frozen=True)
class Lanes:
    """The lanes of a launch that execute an instruction. Values have one row with all lanes."""

    blocks: int
    threads: int
    active: Array

    @property
    def n_rows(self) -> int:
        return 1

    @property
    def n_columns(self) -> int:
        return self.blocks * self.threads

    @property
    def count(self) -> int:
        return int(np.count_nonzero(self.active))

    def to_warps(self, value: Array) -> Array:
        """Reshape to (warps, 32); positions without a thread are zero."""
        value = np.broadcast_to(value, (1, self.n_columns)).reshape(self.blocks, self.threads)
        out = np.zeros((self.blocks, -(-self.threads // WARP) * WARP), value.dtype)
        out[:, : self.threads] = value
        return out.reshape(-1, WARP)

    def from_warps(self, laid_out: Array, _rows: int = 1) -> Array:
        """The inverse of `to_warps`."""
        padded = np.ascontiguousarray(laid_out).reshape(self.blocks, -1)
        return np.ascontiguousarray(padded[:, : self.threads]).reshape(1, -1)

    def warp_mask(self, _rows: int = 1) -> Array:
        """The active lanes in the layout of `to_warps`."""
        return self.to_warps(self.active)

    @property
    def warps(self) -> int:
        """The number of warps with an active lane."""
        return int(self.warp_mask().any(axis=1).sum())

    @property
    def full_warps(self) -> bool:
        """Return whether every warp has either all of its lanes active or none."""
        mask = self.warp_mask()
        return bool((mask.all(axis=1) | ~mask.any(axis=1)).all())
