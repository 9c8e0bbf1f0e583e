"""The sum of n floats: one scalar out of a vector, limited by reading it once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class ReduceSum(Problem):
    title = "output[0] = Σ input[i], i = 0 … n − 1"
    timed_inputs = (
        "numbers between −0.25 and 0.75, whose sum does not vanish. No instruction depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("input", "input", dtype, n),
            Buffer("output", "output", dtype, 1),
            # One per block: blocks have at least 32 elements, or the grid does not grow with n.
            Buffer("partials", "scratch", dtype, -(-n // 32) + 65_536),
            Buffer("ticket", "zeroed", "uint32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw % 2 == 0:
            # Off centre, so that the sum does not vanish.
            return {"input": rng.random(sizes["n"], dtype=dtype) - np.dtype(dtype).type(0.25)}
        # ±1 … ±8: every partial sum is exact, so one element lost or added twice cannot hide.
        whole = rng.integers(1, 9, sizes["n"], dtype=np.int8)
        whole *= rng.integers(0, 2, sizes["n"], dtype=np.int8) * 2 - 1
        return {"input": whole.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.sum(inputs["input"], dtype=np.float64, keepdims=True)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        values = inputs["input"]
        if not np.any(values[:1024] % 1):
            return {"output": 0.5}  # whole numbers: |partial sums| < 8 √n · 5.05 < 2^24, exact
        magnitude = float(np.sum(np.abs(values), dtype=np.float64))
        return {"output": summation_bound(sizes["n"], magnitude, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=size * sizes["n"], written_bytes=size, flops=sizes["n"] - 1)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.sum(tensors["input"])
