"""The logistic function, element by element: a stream with enough arithmetic to matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon, numpy_dtype


class Sigmoid(Problem):
    title = "output[i] = 1 / (1 + exp(−input[i])), i = 0 … n − 1"
    timed_inputs = (
        "numbers between −8 and 8, where the function is neither 0 nor 1. No exponential "
        "overflows there."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        values = rng.random(n, np.float32)
        values -= np.float32(0.5)
        if draw % 2 == 0:
            values *= np.float32(16)
            return {"input": rounded(values, dtype)}
        # Large enough for exp() to overflow or underflow: the result is then 0 or 1, not NaN.
        values *= np.float32(250)
        edges = np.array([0.0, -0.0, 88.75, -88.75, 104, -104, 65504, -65504], np.float32)
        there = min(n, len(edges))
        values[:there] = edges[:there]
        return {"input": values.astype(numpy_dtype(dtype))}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        # In place: at 2^28 elements, each additional array costs more than the arithmetic.
        values = inputs["input"].astype(np.float64)
        np.negative(values, out=values)
        with np.errstate(over="ignore"):  # exp(65504) is infinite, and 1 / infinity is correct
            np.exp(values, out=values)
        values += 1
        return {"output": np.reciprocal(values, out=values)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        # An exponential with a relative error r changes the result y by y (1 − y) r. In float32,
        # __expf() has r <= (2 + 1.18 |x|) eps (CUDA Math API, intrinsics), which gives at most
        # 0.6 eps, at |x| = 1.5. The addition and the division add less than 2 eps.
        computed = 3 * machine_epsilon("float32")
        # Narrower types are computed in float32 and rounded once, from a result of at most 1.
        rounded = 0.0 if dtype == "float32" else machine_epsilon(dtype) / 4
        return {"output": computed + rounded}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = numpy_dtype(dtype).itemsize * sizes["n"]
        # A negation, an exponential, an addition and a division, each counted as one.
        return Work(size, size, flops=4 * sizes["n"], exponentials=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.sigmoid(tensors["input"])
