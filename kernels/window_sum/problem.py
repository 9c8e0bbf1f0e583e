"""The sum of a window around each element: 32 additions for two words of traffic, all of them of
neighbours that other threads need too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound

RADIUS = 16  # as bench.yaml defines it
WINDOW = 2 * RADIUS + 1
LONGEST_RUN = 8  # steps that a running sum may slide before it restarts


class WindowSum(Problem):
    title = "output[i] = Σ input[j], |j − i| ≤ 16, zeros beyond the ends"
    timed_inputs = "numbers between −0.5 and 0.5. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("input", "input", dtype, sizes["n"]),
            Buffer("output", "output", dtype, sizes["n"]),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw % 2 == 0:
            return {"input": rng.random(sizes["n"], dtype=dtype) - np.dtype(dtype).type(0.5)}
        # ±1 … ±8: every sum is exact, so one element lost or added twice cannot hide.
        whole = rng.integers(1, 9, sizes["n"], dtype=np.int8)
        whole *= rng.integers(0, 2, sizes["n"], dtype=np.int8) * 2 - 1
        return {"input": whole.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        # The difference of two prefix sums: in float64 their rounding error is below 1e-9.
        n = sizes["n"]
        upto = np.zeros(n + WINDOW, np.float64)
        np.cumsum(inputs["input"], dtype=np.float64, out=upto[RADIUS + 1 : RADIUS + 1 + n])
        upto[RADIUS + 1 + n :] = upto[RADIUS + n]
        return {"output": upto[WINDOW:] - upto[:n]}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        values = inputs["input"]
        if not np.any(values[:1024] % 1):
            return {"output": 0}  # whole numbers: exact
        largest = float(np.abs(values).max())
        # A step of a running sum adds an element and takes one away.
        return {"output": summation_bound(WINDOW + 2 * LONGEST_RUN, WINDOW * largest, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=size, written_bytes=size, flops=2 * RADIUS * sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """Average pooling with a divisor of 1."""
        import torch

        return torch.nn.functional.avg_pool2d(
            tensors["input"].view(1, 1, 1, -1), (1, WINDOW), (1, 1), (0, RADIUS), False, True, 1
        )  # fmt: skip
