"""A matrix transposition: memory can be accessed contiguously when reading or when writing, not
both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Transpose(Problem):
    title = "y[c * rows + r] = x[r * columns + c]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        count = sizes["rows"] * sizes["columns"]
        return [Buffer("x", "input", dtype, count), Buffer("y", "output", dtype, count)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.standard_normal(sizes["rows"] * sizes["columns"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        matrix = inputs["x"].reshape(sizes["rows"], sizes["columns"])
        return {"y": matrix.T.astype(np.float64).ravel()}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 1e-30}  # nothing is computed

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        nbytes = np.dtype(dtype).itemsize * sizes["rows"] * sizes["columns"]
        return Work(read_bytes=nbytes, written_bytes=nbytes, flops=0)
