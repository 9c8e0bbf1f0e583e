"""The rectifier, element by element: limited by reading a vector and writing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, numpy_dtype


class Relu(Problem):
    title = "output[i] = max(input[i], 0), i = 0 … n − 1"
    timed_inputs = (
        "numbers between −0.5 and 0.5, half of them negative, as before a rectifier. No "
        "instruction depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            return {"input": rounded(rng.random(n, np.float32) - np.float32(0.5), dtype)}
        # Both zeros, the largest float16 numbers of either sign, and some of the smallest that are
        # not zero. float32 holds them, too; bfloat16 rounds 65504 up.
        edges = np.array([0.0, -0.0, 65504, -65504, 6e-8, -6e-8, 1, -1], numpy_dtype(dtype))
        return {"input": edges[rng.integers(0, len(edges), n, np.int8)]}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        values = inputs["input"].astype(np.float64)
        return {"output": np.maximum(values, 0, out=values)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0.0}  # one of its operands, unchanged

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = numpy_dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=size, written_bytes=size, flops=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.relu(tensors["input"])
