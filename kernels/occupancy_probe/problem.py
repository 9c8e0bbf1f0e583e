"""A copy again, this time to show how bandwidth depends on the number of warps that an SM holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class OccupancyProbe(Problem):
    title = "output[i] = input[i], i = 0 … n − 1, at chosen occupancies"
    timed_inputs = "numbers between −0.5 and 0.5. No instruction depends on them."
    no_roof = "it is held below what a copy reaches, to see what occupancy is worth"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw % 2 == 0:
            return {"input": rng.random(sizes["n"], np.float32) - np.float32(0.5)}
        # Whole numbers of either sign; neighbours are rarely equal.
        return {"input": rng.integers(-30_000, 30_001, sizes["n"], np.int16).astype(np.float32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": inputs["input"].astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0.0}  # nothing is computed

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=size, written_bytes=size, flops=0)
