"""The product of two matrices of floats on tensor cores, which round the factors to TF32.

It is a separate problem from sgemm because the correct result differs: a factor keeps 10 of its 23
bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound

TF32_UNIT = 2.0**-10
"""The relative error of a factor that the instruction truncates itself; if the instruction receives
a rounded factor, the error is half of this."""


class SgemmTf32(Problem):
    arithmetic = "tf32"
    title = "c[i][j] = Σ tf32(a[i][l]) tf32(b[l][j]), a of m × k, b of k × n, row-major"
    timed_inputs = (
        "normal factors. No instruction depends on them; zeros would draw less power and so run "
        "at a higher clock."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        return [
            Buffer("a", "input", dtype, m * k),
            Buffer("b", "input", dtype, k * n),
            # Copies whose rows are multiples of 16 bytes, for v5.
            Buffer("padded_a", "scratch", dtype, m * (-(-k // 4) * 4)),
            Buffer("padded_b", "scratch", dtype, k * (-(-n // 4) * 4)),
            Buffer("c", "output", dtype, m * n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        if draw % 2 == 0:
            return {
                "a": rng.standard_normal(m * k, dtype=np.float32),
                "b": rng.standard_normal(k * n, dtype=np.float32),
            }
        # ±1 … ±4, which TF32 holds: every sum is exact, so no product can be lost unnoticed.
        return {"a": _whole(rng, m * k), "b": _whole(rng, k * n)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        a, b = self._matrices(sizes, inputs)
        return {"c": a @ b}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["a"][:1024] % 1) and not np.any(inputs["b"][:1024] % 1):
            return {"c": 0.5}  # whole numbers: |partial sums| <= 16 k < 2^24, exact
        a, b = self._matrices(sizes, inputs)
        # Σ|a||b| over a row and a column is at most the product of their norms (Cauchy–Schwarz).
        magnitude = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=0))
        # Both factors are rounded. The tensor cores truncate their float32 sums instead of rounding
        # them (Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021), which doubles the
        # bound of the sums.
        factors = (1 + TF32_UNIT) ** 2 - 1
        return {"c": magnitude * (factors + 2 * summation_bound(sizes["k"] + 1, 1.0, dtype))}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        size = np.dtype(dtype).itemsize
        return Work(size * (m * k + k * n), size * m * n, 2 * m * n * k)

    def _matrices(
        self, sizes: Mapping[str, int], inputs: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        a, b = inputs["a"].reshape(m, k), inputs["b"].reshape(k, n)
        return a.astype(np.float64), b.astype(np.float64)


def _whole(rng: np.random.Generator, count: int) -> Array:
    sign = rng.integers(0, 2, count, dtype=np.int8) * 2 - 1
    return (rng.integers(1, 5, count, dtype=np.int8) * sign).astype(np.float32)
