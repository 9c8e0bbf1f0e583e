"""Lengths of vectors stored component by component: loads with a stride of 12 bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, machine_epsilon


class Norms(Problem):
    title = "length[i] = √(x² + y² + z²)"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("xyz", "input", dtype, 3 * n), Buffer("length", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"xyz": rng.standard_normal(3 * sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"length": np.linalg.norm(inputs["xyz"].astype(np.float64).reshape(-1, 3), axis=1)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        # Three squares and two sums under the root, and the root: an error below 4 times half an
        # eps.
        exact = self.reference(sizes, dtype, inputs)["length"]
        return {"length": 2 * machine_epsilon(dtype) * exact}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=3 * size * n, written_bytes=size * n, flops=6 * n)
