"""Double even integers, increment odd ones: if this compiles to a branch, it splits every warp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

LARGEST = 2**30 - 1
"""The largest input: its double still fits into 32 bits."""


class ParityBranch(Problem):
    title = "output[i] = 2 input[i] if input[i] is even, else input[i] + 1"
    timed_inputs = (
        "integers of either parity, of which `stretch` neighbours share theirs: by chance where it "
        "is 1, so that hardly a warp has lanes of one kind alone, which is where a branch that is "
        "kept costs most; whole warps of one kind where it is 1024, as in sorted data."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("input", "input", dtype, n),
            Buffer("output", "output", dtype, n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            values = rng.integers(-LARGEST, LARGEST, n, np.int32, endpoint=True)
            stretch = sizes.get("stretch", 1)
            if stretch > 1:  # a stretch has its first element's parity
                parities = np.repeat(values[::stretch] & 1, stretch)[:n]
                values &= ~1
                values |= parities
            return {"input": values}
        edges = np.array([0, 1, -1, 2, -2, -3, LARGEST, -LARGEST, 1 - LARGEST], np.int32)
        return {"input": edges[rng.integers(0, len(edges), n, np.int8)]}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        values = inputs["input"]
        return {"output": np.add(values, np.where(values & 1, 1, values), dtype=np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0.0}  # integers

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        # One operation for the parity and one for the result that is kept.
        return Work(read_bytes=size, written_bytes=size, flops=2 * sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """Write the operation as usual in torch: five passes if not compiled, one if compiled."""
        import torch

        x = tensors["input"]
        return torch.where(x & 1 == 0, 2 * x, x + 1)
