"""Points times weights, mirrored in tiles of 128: shared-memory accesses of 8 and 16 bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, machine_epsilon

TILE = 128


class Blend(Problem):
    title = "y[i] = weight[r] point[r], r = i mirrored in its tile of 128"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("point", "input", dtype, 4 * n),
            Buffer("weight", "input", "float64", n),
            Buffer("y", "output", dtype, 4 * n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {
            "point": rng.standard_normal(4 * sizes["n"]).astype(dtype),
            "weight": rng.standard_normal(sizes["n"]),
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        i = np.arange(sizes["n"])
        first = i - i % TILE
        mirrored = first + np.minimum(first + TILE, sizes["n"]) - 1 - i
        points = inputs["point"].astype(np.float64).reshape(-1, 4)
        return {"y": (points * inputs["weight"][:, None])[mirrored].ravel()}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        # A product in double precision, rounded once to single.
        exact = np.abs(self.reference(sizes, dtype, inputs)["y"])
        return {"y": exact * machine_epsilon(dtype) + np.finfo(dtype).tiny}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=4 * size * n + 8 * n, written_bytes=4 * size * n, flops=4 * n)
