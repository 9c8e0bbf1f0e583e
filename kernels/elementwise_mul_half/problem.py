"""The product of two vectors of 16-bit numbers, element by element."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon, numpy_dtype


class ElementwiseMulHalf(Problem):
    title = "output[i] = a[i] · b[i], i = 0 … n − 1"
    timed_inputs = "numbers between −1 and 1. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("a", "input", dtype, n),
            Buffer("b", "input", dtype, n),
            Buffer("output", "output", dtype, n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        def values() -> Array:
            if draw % 2 == 0:
                found = rng.random(sizes["n"], np.float32) * np.float32(2) - np.float32(1)
                return rounded(found, dtype)
            # Whole numbers whose products the type holds exactly: up to 2^11 in float16 and 2^8 in
            # bfloat16.
            most = math.isqrt(int(2 / machine_epsilon(dtype)))
            return rng.integers(-most, most + 1, sizes["n"], np.int8).astype(numpy_dtype(dtype))

        return {"a": values(), "b": values()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.multiply(inputs["a"], inputs["b"], dtype=np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["a"][:1024] % 1):
            return {"output": 0.0}  # whole numbers
        # One rounding of a product of at most 1: half a unit in the last place below 1.
        return {"output": machine_epsilon(dtype) / 4}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = 2 * sizes["n"]
        return Work(read_bytes=2 * size, written_bytes=size, flops=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.mul(tensors["a"], tensors["b"])
