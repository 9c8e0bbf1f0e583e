"""The same small computation on n numbers, long enough that the SMs, not memory, set the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, machine_epsilon


class TailEffect(Problem):
    title = "y ← y / 2 + input[i], `rounds` times from y = input[i], for n numbers"
    timed_inputs = "numbers between −1 and 1. No instruction depends on them."
    no_roof = "n is chosen for how full the last wave of blocks is, which sets the time"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            return {"input": rng.random(n, np.float32) * np.float32(2) - np.float32(1)}
        # Whole numbers, for which the first few rounds are exact.
        return {"input": rng.integers(-127, 128, n, np.int8).astype(np.float32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        # The sum of a geometric series: x (1 + 1/2 + … + 2^-rounds).
        return {"output": inputs["input"] * (2 - 0.5 ** float(sizes["rounds"]))}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        # A round adds an error of u times its result, which is at most 2 |x|, and halves the error
        # so far. The errors add up to 4 u |x|, with u = eps / 2.
        largest = float(np.max(np.abs(inputs["input"])))
        return {"output": 2 * machine_epsilon(dtype) * largest}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        return Work(size, size, 2 * sizes["rounds"] * sizes["n"])
