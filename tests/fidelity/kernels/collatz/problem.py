"""Lengths of Collatz sequences: a loop whose trip count differs between lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Collatz(Problem):
    title = "steps[i] = length of the Collatz sequence from start[i] to 1"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("start", "input", "uint32", n), Buffer("steps", "output", "uint32", n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"start": rng.integers(1, 10_001, sizes["n"]).astype(np.uint32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        k = inputs["start"].astype(np.int64)
        steps = np.zeros(len(k))
        while (k > 1).any():
            steps += k > 1
            k = np.where(k == 1, 1, np.where(k % 2, 3 * k + 1, k // 2))
        return {"steps": steps}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"steps": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * sizes["n"], flops=0)
