"""The frequency of each of 256 values: a scattered sum whose cost depends on collisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

BINS = 256


class Histogram(Problem):
    title = "output[b] = how many input[i] are b, b = 0 … 255"
    timed_inputs = (
        "evenly spread bytes, of which `skew` per cent are one and the same: what collides "
        "decides the time, so it is a size."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("input", "input", dtype, sizes["n"]),
            Buffer("output", "output", dtype, BINS),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        """Uniformly distributed values; `skew` per cent of them are replaced by a single value."""
        n = sizes["n"]
        values = rng.integers(0, BINS, n, dtype=np.uint8)
        often = rng.integers(0, BINS, dtype=np.uint8)
        values[rng.integers(0, 100, n, dtype=np.uint8) < sizes["skew"]] = often
        return {"input": values.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.bincount(inputs["input"], minlength=BINS)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"output": 0}  # whole numbers

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=size * sizes["n"], written_bytes=size * BINS, flops=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        """Call bincount, which asks the GPU for the largest value and waits for the answer, as all
        of its callers have to."""
        import torch

        return torch.bincount(tensors["input"], minlength=BINS)
