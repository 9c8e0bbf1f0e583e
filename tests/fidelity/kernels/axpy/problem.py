"""a x + z in half precision: two bytes per element, single and packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

A = 3
"""The factor, as bench.yaml passes it."""


class Axpy(Problem):
    title = "y[i] = a x[i] + z[i]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("x", "input", dtype, n),
            Buffer("z", "input", dtype, n),
            Buffer("y", "output", dtype, n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {name: rng.standard_normal(sizes["n"]).astype(dtype) for name in ("x", "z")}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": A * inputs["x"].astype(np.float64) + inputs["z"].astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        exact = self.reference(sizes, dtype, inputs)["y"]
        # One rounding: half a unit in the last place, and at least that of the smallest normal
        # number.
        return {"y": np.maximum(np.abs(exact), 2.0**-14) * 2.0**-11}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=2 * size * n, written_bytes=size * n, flops=2 * n)
