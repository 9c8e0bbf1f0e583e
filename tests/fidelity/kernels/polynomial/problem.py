"""Four polynomials in turn, with coefficients in constant memory and in shared memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound

COEFFICIENTS = np.array(
    [
        [1.0, 2.0, -1.0, 0.5, 0.25, -0.125],
        [-1.0, 0.5, 1.5, -0.75, 0.5, 0.25],
        [0.5, -2.0, 1.0, 0.25, -0.5, 0.75],
        [2.0, 1.0, 0.5, -0.25, 0.125, 1.0],
    ]
)


def _evaluate(coefficients: Array, x: Array) -> Array:
    own = coefficients[np.arange(len(x)) % 4]
    return (own * x.astype(np.float64)[:, None] ** np.arange(6)).sum(axis=1)


class Polynomial(Problem):
    title = "y[i] = Σ k[i % 4][j] x[i]^j, j = 0 … 5"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", dtype, n), Buffer("y", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.uniform(-2, 2, sizes["n"]).astype(dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": _evaluate(COEFFICIENTS, inputs["x"])}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        # Horner's rule: 2 · 5 roundings (Higham, Accuracy and Stability, section 5.1).
        return {
            "y": summation_bound(11, 1.0, dtype)
            * _evaluate(np.abs(COEFFICIENTS), np.abs(inputs["x"]))
        }

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        nbytes = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=nbytes, written_bytes=nbytes, flops=10 * sizes["n"])
