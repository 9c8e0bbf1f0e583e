"""Even integers doubled, odd ones incremented: a branch that splits every warp, if it is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

LARGEST = 2**30 - 1
"""Its double still fits into 32 bits."""


class ParityBranch(Problem):
    title = "output[i] = 2 input[i] if input[i] is even, else input[i] + 1"
    timed_inputs = (
        "integers of either parity by chance, so that hardly a warp has lanes of one kind alone. "
        "A branch that is kept costs most there, and nothing where parities are sorted."
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
            # Of either sign and parity, by chance: hardly a warp has lanes of one kind alone.
            return {"input": rng.integers(-LARGEST, LARGEST, n, np.int32, endpoint=True)}
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
        # The parity and the one result that is kept, an operation each.
        return Work(read_bytes=size, written_bytes=size, flops=2 * sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """As one writes it: five passes where nothing is compiled, and one where it is."""
        import torch

        x = tensors["input"]
        return torch.where(x & 1 == 0, 2 * x, x + 1)
