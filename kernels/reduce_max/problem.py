"""The largest of n floats: a reduction without rounding, so every result has to be exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class ReduceMax(Problem):
    title = "output[0] = max input[i], i = 0 … n − 1"
    timed_inputs = (
        "numbers between −0.5 and 0.5. Compare-and-swap is tried again as often as blocks meet; "
        "nothing else depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("input", "input", dtype, n),
            Buffer("output", "output", dtype, 1),
            # One per block: blocks have at least 32 elements unless the grid does not grow with n.
            Buffer("partials", "scratch", dtype, -(-n // 32) + 65_536),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        values = rng.random(sizes["n"], dtype=dtype) - np.dtype(dtype).type(0.5)
        if draw % 2 == 0:
            return {"input": values}
        # All negative, so that −∞ is the only identity that works. The largest comes last, so that
        # a forgotten tail shows. If n is odd, the largest is −0.0, which is above all the others
        # but, as an integer, the smallest of all.
        values -= np.dtype(dtype).type(10)
        values[-1] = -0.0 if sizes["n"] % 2 else -1.5
        return {"input": values}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.max(inputs["input"], keepdims=True).astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0.0}  # one of the inputs, unchanged

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        # A comparison counts as an operation.
        return Work(read_bytes=size * sizes["n"], written_bytes=size, flops=sizes["n"] - 1)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.amax(tensors["input"])
