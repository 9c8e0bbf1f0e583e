"""A blend of three neighbours, with an error bound so wide that half precision suffices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Blend(Problem):
    title = "y[i] = x[i − 1] / 4 + x[i] / 2 + x[i + 1] / 4, to three digits"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", dtype, n), Buffer("y", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.random(sizes["n"], dtype=dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        x = np.pad(inputs["x"].astype(np.float64), 1, mode="edge")
        return {"y": x[:-2] / 4 + x[1:-1] / 2 + x[2:] / 4}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 2e-3}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * sizes["n"], flops=5 * sizes["n"])
