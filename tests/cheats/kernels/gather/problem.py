"""Elements selected by index: as the problem states, a correct kernel does not have to read all
of x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Gather(Problem):
    title = "y[i] = x[index[i]]"
    partly_read = ("x",)

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("x", "input", dtype, 4 * n),
            Buffer("index", "input", "int32", n),
            Buffer("y", "output", dtype, n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        x = rng.random(4 * n, dtype=dtype)
        return {"x": x, "index": rng.integers(0, 4 * n, n, dtype=np.int32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": inputs["x"][inputs["index"]].astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 1e-30}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=8 * sizes["n"], written_bytes=4 * sizes["n"], flops=0)
