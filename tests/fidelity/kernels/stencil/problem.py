"""A weighted sum of seven neighbours: several threads read the same elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


def _weighted(x: Array) -> Array:
    weights = np.array([1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0])
    return np.convolve(x, weights)[3 : 3 + len(x)]


class Stencil(Problem):
    title = "y[i] = Σ (4 - |j|) x[i + j], j = -3 … 3"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", dtype, n), Buffer("y", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.standard_normal(sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": _weighted(inputs["x"].astype(np.float64))}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        magnitude = _weighted(np.abs(inputs["x"].astype(np.float64)))
        return {"y": summation_bound(8, 1.0, dtype) * magnitude}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=size * n, written_bytes=size * n, flops=13 * n)
