"""One-dimensional convolution as neural networks define it, without reversing the filter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound

FILTER = np.array(
    re.findall(r"-?\d+\.\d+(?=f)", (Path(__file__).parent / "filter.inc").read_text()), np.float32
)
"""The filter, which the .cu files also include. Constant memory is filled when a module is loaded,
so the filter is the same in every run. It is not symmetric, so a kernel that reverses it fails."""
TAPS = FILTER.size
RADIUS = TAPS // 2


class Convolve1d(Problem):
    title = "output[i] = Σ filter[k] · input[i + k − 16], k = 0 … 32, zeros beyond the ends"
    timed_inputs = (
        "numbers between −0.5 and 0.5, as of an audio signal. No instruction depends on them."
    )
    partly_read = ("filter",)  # kernels with it in constant memory do not read the buffer
    changed_together: Mapping[str, int] = {"filter": 0}  # nor would they notice a change in it

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("input", "input", dtype, sizes["n"]),
            Buffer("filter", "input", dtype, TAPS),
            Buffer("output", "output", dtype, sizes["n"]),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            values = rng.random(n, dtype=dtype) - np.dtype(dtype).type(0.5)
        else:
            # ±1 … ±8: every sum is exact, so one element lost or added twice cannot hide.
            whole = rng.integers(1, 9, n, dtype=np.int8)
            whole *= rng.integers(0, 2, n, dtype=np.int8) * 2 - 1
            values = whole.astype(dtype)
        return {"input": values, "filter": FILTER.astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        padded = np.pad(inputs["input"].astype(np.float64), RADIUS)
        return {"output": np.correlate(padded, inputs["filter"].astype(np.float64), "valid")}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        values = inputs["input"]
        if not np.any(values[:1024] % 1):
            return {"output": 0}  # whole numbers times multiples of 1/64: exact
        largest = float(np.abs(values).max()) * float(np.abs(FILTER).sum(dtype=np.float64))
        # A multiplication and an addition per tap.
        return {"output": summation_bound(2 * TAPS, largest, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        n = sizes["n"]
        return Work(size * (n + TAPS), size * n, (2 * TAPS - 1) * n)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        values, weights = tensors["input"].view(1, 1, -1), tensors["filter"].view(1, 1, -1)
        return torch.nn.functional.conv1d(values, weights, padding=RADIUS)
