"""All prefix sums of n floats: each element of the output needs all inputs before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import smallest_normal
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon


class Scan(Problem):
    title = "output[i] = Σ input[j], j = 0 … i"
    timed_inputs = (
        "numbers between −0.25 and 0.75, whose sums grow. No instruction depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        parts = -(-n // 128)  # no block handles fewer elements
        return [
            Buffer("input", "input", dtype, n),
            Buffer("output", "output", dtype, n),
            Buffer("sums", "scratch", dtype, parts),
            Buffer("states", "scratch", "int64", parts),
            Buffer("ticket", "scratch", "uint32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw % 2 == 0:
            # Off centre, so that the sums do not stay near 0.
            return {"input": rng.random(sizes["n"], dtype=dtype) - np.dtype(dtype).type(0.25)}
        # ±1 … ±8: every sum is exact, so one element lost or added twice cannot hide.
        whole = rng.integers(1, 9, sizes["n"], dtype=np.int8)
        whole *= rng.integers(0, 2, sizes["n"], dtype=np.int8) * 2 - 1
        return {"input": whole.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.cumsum(inputs["input"], dtype=np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """The value of harness.problem.summation_bound() for each prefix, summed in any order."""
        values = inputs["input"]
        if not np.any(values[:1024] % 1):
            return {"output": 0.5}  # whole numbers: |sums| < 8 √n · 5.05 < 2^24, exact
        count = np.arange(1, values.size + 1, dtype=np.float32)
        terms = np.sqrt(count)
        terms *= 8
        np.maximum(terms, 1024, out=terms)
        np.minimum(terms, count, out=terms)
        terms *= machine_epsilon(dtype) / 2 * 1.01  # the 1.01 covers 1 / (1 − terms u)
        bound = np.cumsum(np.abs(values), dtype=np.float64)
        bound *= terms
        bound += smallest_normal(dtype)
        return {"output": bound}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=size, written_bytes=size, flops=sizes["n"] - 1)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.cumsum(tensors["input"], dim=0)
