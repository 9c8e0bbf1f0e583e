"""The transpose of a matrix: nothing is computed, but every element moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

STRIP = 64  # rows that the reference moves at once, so that the columns it writes stay in the cache


class Transpose(Problem):
    title = "output[c][r] = input[r][c], r = 0 … rows − 1, c = 0 … cols − 1"
    timed_inputs = "numbers between −0.5 and 0.5. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["rows"] * sizes["cols"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["rows"] * sizes["cols"]
        if draw % 2 == 0:
            return {"input": rng.random(n, dtype=dtype) - np.dtype(dtype).type(0.5)}
        # Consecutive whole numbers that repeat after 2^24 - 3 elements, so no two elements that a
        # tile could confuse are equal. float32 holds them exactly.
        whole = np.arange(16_777_213, dtype=dtype) - np.dtype(dtype).type(8_388_606)
        return {"input": np.resize(np.roll(whole[:n], int(rng.integers(1, 1000))), n)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        matrix = inputs["input"].reshape(rows, cols)
        output = np.empty((cols, rows), np.float64)
        for row in range(0, rows, STRIP):
            output[:, row : row + STRIP] = matrix[row : row + STRIP].T
        return {"output": output}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0}  # elements move and do not change

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["rows"] * sizes["cols"]
        return Work(read_bytes=size, written_bytes=size, flops=0)
