"""Root-mean-square normalisation: each row is scaled to a mean square of 1, then by gamma."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded, smallest_normal
from harness.problem import (
    Array,
    Buffer,
    Problem,
    Work,
    machine_epsilon,
    numpy_dtype,
    summation_bound,
)

EPSILON = 1e-5  # added to the mean square; bench.yaml passes the same value
CHUNK = 2**18  # elements that the reference keeps in the cache at a time


def chunks(rows: int, cols: int) -> Iterator[slice]:
    step = max(1, CHUNK // cols)
    return (slice(start, start + step) for start in range(0, rows, step))


class RmsNorm(Problem):
    title = "output[r][c] = input[r][c] / √(mean square of row r + ε) · gamma[c]"
    timed_inputs = (
        "rows of a size of their own between 2⁻⁵ and 2⁸, as activations of different layers. No "
        "instruction depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        rows, cols = sizes["rows"], sizes["cols"]
        return [
            Buffer("input", "input", dtype, rows * cols),
            Buffer("gamma", "input", dtype, cols),
            Buffer("output", "output", dtype, rows * cols),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        values = rng.random((rows, cols), dtype=np.float32) - np.float32(0.5)
        # Each row has its own magnitude; the squares of the largest exceed the range of float16.
        values *= np.float32(2) ** rng.integers(-4, 10, (rows, 1)).astype(np.float32)
        if draw % 2 == 1:
            values[::3] = values[::3, :1]  # constant rows
            values[1::3] = 0  # only ε to divide by
        return {
            "input": rounded(values.reshape(-1), dtype),
            "gamma": rounded(rng.random(cols, dtype=np.float32) * 3 - 1, dtype),
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        values = inputs["input"].reshape(rows, cols)
        gamma = inputs["gamma"].astype(np.float64)
        output = np.empty((rows, cols), np.float64)
        for part in chunks(rows, cols):
            x = values[part].astype(np.float64)
            x /= np.sqrt(np.mean(x * x, axis=1, keepdims=True) + EPSILON)
            np.multiply(x, gamma, out=output[part])
        return {"output": output}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """Relative to each element: half the error of the sum of squares, because the square root
        halves it; a few roundings in float32; and the rounding of the output."""
        rows, cols = sizes["rows"], sizes["cols"]
        u = machine_epsilon("float32") / 2
        gamma = inputs["gamma"].astype(np.float32)
        values = inputs["input"].reshape(rows, cols)
        bound = np.empty((rows, cols), np.float32)
        share = summation_bound(2 * cols, 0.5, "float32") + 8 * u + machine_epsilon(dtype) / 2
        for part in chunks(rows, cols):
            x = values[part].astype(np.float32)
            root = np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(EPSILON))
            bound[part] = np.abs(x * gamma) * (share / root)
        bound += smallest_normal(dtype)
        return {"output": bound}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["rows"] * sizes["cols"]
        size = numpy_dtype(dtype).itemsize
        # A multiplication and an addition for the mean square, two multiplications for the output.
        return Work(size * (n + sizes["cols"]), size * n, 4 * n)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        gamma = tensors["gamma"]
        rows = tensors["input"].view(-1, gamma.numel())
        return torch.nn.functional.rms_norm(rows, gamma.shape, gamma, EPSILON)
