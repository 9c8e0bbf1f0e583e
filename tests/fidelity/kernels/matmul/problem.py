"""A product of square matrices: every element is read n times, in different ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class MatMul(Problem):
    title = "c = a b, n × n, row-major"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        count = sizes["n"] ** 2
        return [
            Buffer("a", "input", dtype, count),
            Buffer("b", "input", dtype, count),
            Buffer("c", "output", dtype, count),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        count = sizes["n"] ** 2
        return {name: rng.standard_normal(count).astype(dtype) for name in ("a", "b")}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        a, b = (inputs[x].astype(np.float64).reshape(sizes["n"], -1) for x in ("a", "b"))
        return {"c": (a @ b).ravel()}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        a, b = (np.abs(inputs[x].astype(np.float64)).reshape(sizes["n"], -1) for x in ("a", "b"))
        # The bound for a sum of n products, each of which is rounded at most once more than a plain
        # term.
        return {"c": summation_bound(sizes["n"] + 1, 1.0, dtype) * (a @ b).ravel()}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=2 * size * n * n, written_bytes=size * n * n, flops=2 * n**3)
