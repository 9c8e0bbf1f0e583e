"""The sum of two vectors, element by element: limited by reading two and writing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon, numpy_dtype


class ElementwiseAdd(Problem):
    title = "output[i] = a[i] + b[i], i = 0 … n − 1"
    timed_inputs = "numbers between −0.5 and 0.5. No instruction depends on them."

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
                return rounded(rng.random(sizes["n"], np.float32) - np.float32(0.5), dtype)
            # Whole numbers whose sums the type holds exactly: up to 256 in bfloat16.
            most = min(1000, int(1 / machine_epsilon(dtype)))
            return rng.integers(-most, most + 1, sizes["n"], np.int16).astype(numpy_dtype(dtype))

        return {"a": values(), "b": values()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.add(inputs["a"], inputs["b"], dtype=np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["a"][:1024] % 1):
            return {"output": 0.0}  # whole numbers
        # One rounding of a sum of at most 1: half a unit in the last place.
        return {"output": machine_epsilon(dtype) / 2}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = numpy_dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=2 * size, written_bytes=size, flops=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.add(tensors["a"], tensors["b"])
