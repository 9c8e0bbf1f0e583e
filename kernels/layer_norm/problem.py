"""Layer normalisation: each row is normalised to mean 0 and variance 1, then scaled and shifted."""

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

EPSILON = 1e-5  # added to the variance; bench.yaml passes the same value
CHUNK = 2**18  # elements that the reference keeps in the cache at a time


def chunks(rows: int, cols: int) -> Iterator[slice]:
    step = max(1, CHUNK // cols)
    return (slice(start, start + step) for start in range(0, rows, step))


class LayerNorm(Problem):
    title = "output[r][c] = (input[r][c] − mean) / √(variance + ε) · gamma[c] + beta[c]"
    timed_inputs = (
        "rows of a spread of 0.3 around a mean of their own, as activations are. No instruction "
        "depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        rows, cols = sizes["rows"], sizes["cols"]
        return [
            Buffer("input", "input", dtype, rows * cols),
            Buffer("gamma", "input", dtype, cols),
            Buffer("beta", "input", dtype, cols),
            Buffer("output", "output", dtype, rows * cols),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        values = rng.random((rows, cols), dtype=np.float32) - np.float32(0.5)
        # Each row has its own mean; some means are far from 0 relative to the spread of the row.
        values += rng.integers(-4, 5, (rows, 1)).astype(np.float32)
        if draw % 2 == 1:
            values[::3] = np.trunc(values[::3, :1])  # constant rows: the variance is only ε
        return {
            "input": rounded(values.reshape(-1), dtype),
            "gamma": rounded(rng.random(cols, dtype=np.float32) * 3 - 1, dtype),
            "beta": rounded(rng.random(cols, dtype=np.float32) * 2 - 1, dtype),
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        values = inputs["input"].reshape(rows, cols)
        gamma, beta = inputs["gamma"].astype(np.float64), inputs["beta"].astype(np.float64)
        output = np.empty((rows, cols), np.float64)
        for part in chunks(rows, cols):
            d = values[part].astype(np.float64)
            d -= d.mean(axis=1, keepdims=True)
            d /= np.sqrt(np.mean(d * d, axis=1, keepdims=True) + EPSILON)
            np.multiply(d, gamma, out=output[part])
            output[part] += beta
        return {"output": output}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """The maximum error from float32 arithmetic and from rounding the output.

        The mean has the error of a sum of `cols` terms, which gives every d = x − mean an error e.
        The relative error of the variance is that of a sum, plus the effect of e on each d². The
        square root halves it. A row of nearly equal numbers is divided by at least √ε, which
        bounds the effect of e.
        """
        rows, cols = sizes["rows"], sizes["cols"]
        u = machine_epsilon("float32") / 2
        u_output = machine_epsilon(dtype) / 2
        gamma_abs = np.abs(inputs["gamma"].astype(np.float32))
        beta = inputs["beta"].astype(np.float32)
        values = inputs["input"].reshape(rows, cols)
        bound = np.empty((rows, cols), np.float32)
        # Terms are rounded as they are formed, and moments are merged with a few roundings each.
        sums = summation_bound(4 * cols, 1.0, "float32")
        for part in chunks(rows, cols):
            x = values[part].astype(np.float32)
            size = np.abs(x).max(axis=1, keepdims=True)
            d = np.abs(x - x.mean(axis=1, keepdims=True))
            variance = np.mean(d * d, axis=1, keepdims=True)
            e = (sums + 2 * u) * size
            of_variance = sums * variance + 2 * e * d.mean(axis=1, keepdims=True) + e * e
            of_root = of_variance / (variance + EPSILON) + 4 * u
            scaled = gamma_abs / np.sqrt(variance + EPSILON)
            y = scaled * (d + e) + np.abs(beta)
            bound[part] = scaled * (e + d * of_root) + (4 * u + u_output) * y
        bound += smallest_normal(dtype)
        return {"output": bound}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["rows"] * sizes["cols"]
        size = numpy_dtype(dtype).itemsize
        # An addition for the mean, three operations for the variance, four for the output.
        return Work(size * (n + 2 * sizes["cols"]), size * n, 8 * n)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        gamma, beta = tensors["gamma"], tensors["beta"]
        rows = tensors["input"].view(-1, gamma.numel())
        return torch.nn.functional.layer_norm(rows, gamma.shape, gamma, beta, EPSILON)
