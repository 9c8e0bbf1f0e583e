"""Running sums within segments of 256: every thread needs the sums of those before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

SEGMENT = 256


class Scan(Problem):
    title = "y[i] = x[i - i % 256] + … + x[i]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", dtype, n), Buffer("y", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.integers(-1000, 1001, sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        padded = np.zeros(-(-n // SEGMENT) * SEGMENT)
        padded[:n] = inputs["x"]
        return {"y": padded.reshape(-1, SEGMENT).cumsum(axis=1).ravel()[:n]}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        nbytes = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=nbytes, written_bytes=nbytes, flops=0)
