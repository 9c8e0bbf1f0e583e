"""The sum of n floats: its result is so small that storing it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class Sum(Problem):
    title = "total[0] = Σ x[i]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("x", "input", dtype, sizes["n"]),
            Buffer("total", "output", dtype, 1),
            Buffer("partials", "scratch", dtype, 4096),
            Buffer("ticket", "zeroed", "uint32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw % 2 == 0:
            return {"x": rng.random(sizes["n"], dtype=dtype) - np.dtype(dtype).type(0.25)}
        # ±1 … ±8: every partial sum is exact, so the omission of a single element always shows.
        whole = rng.integers(1, 9, sizes["n"]) * (rng.integers(0, 2, sizes["n"]) * 2 - 1)
        return {"x": whole.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"total": np.sum(inputs["x"], dtype=np.float64, keepdims=True)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        values = inputs["x"]
        if not np.any(values % 1):
            return {"total": 0.5}
        magnitude = float(np.sum(np.abs(values), dtype=np.float64))
        return {"total": summation_bound(sizes["n"], magnitude, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=size * sizes["n"], written_bytes=size, flops=sizes["n"] - 1)
