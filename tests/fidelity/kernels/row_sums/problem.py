"""The sum of each row of a matrix, by warps and by threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class RowSums(Problem):
    title = "sums[r] = Σ x[r * columns + c]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("x", "input", dtype, sizes["rows"] * sizes["columns"]),
            Buffer("sums", "output", dtype, sizes["rows"]),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.standard_normal(sizes["rows"] * sizes["columns"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        matrix = inputs["x"].astype(np.longdouble).reshape(sizes["rows"], -1)
        return {"sums": matrix.sum(axis=1).astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        magnitude = np.abs(inputs["x"].astype(np.float64)).reshape(sizes["rows"], -1).sum(axis=1)
        return {"sums": summation_bound(sizes["columns"], 1.0, dtype) * magnitude}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size, count = np.dtype(dtype).itemsize, sizes["rows"] * sizes["columns"]
        return Work(size * count, size * sizes["rows"], flops=count - sizes["rows"])
