"""A copy of n floats: the least that a kernel can do, limited by memory alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Copy(Problem):
    title = "output[i] = input[i], i = 0 … n − 1"
    timed_inputs = "numbers between −0.5 and 0.5. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            return {"input": rng.random(n, dtype=dtype) - np.dtype(dtype).type(0.5)}
        # All bit patterns but infinities and NaNs: a copy must not round, flush or lose a sign.
        bits = rng.integers(0, 2**32, n, dtype=np.uint32)
        bits[(bits & 0x7F80_0000) == 0x7F80_0000] ^= 0x4000_0000
        return {"input": bits.view(np.float32)}

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

    def library(self, tensors: Mapping[str, Any]) -> Any:
        return tensors["input"].clone()
