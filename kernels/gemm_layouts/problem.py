"""The product of two matrices of 16-bit floats, each stored in row-major or column-major order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon, summation_bound


class Gemm(Problem):
    title = "c[i][j] = Σ a[i][l] b[l][j], by rows (a_by, b_by = 1) or columns (2); sums in float32"
    timed_inputs = (
        "normal factors. No instruction depends on them; zeros would draw less power and so run "
        "at a higher clock."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        return [
            Buffer("a", "input", dtype, m * k),
            Buffer("b", "input", dtype, n * k),
            Buffer("c", "output", dtype, m * n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        counts = {"a": sizes["m"] * sizes["k"], "b": sizes["n"] * sizes["k"]}
        if draw % 2 == 0:
            return {
                name: rounded(rng.standard_normal(count, dtype=np.float32), dtype)
                for name, count in counts.items()
            }
        # ±1 … ±4: every float32 sum is exact, so no product can be lost unnoticed.
        return {name: rounded(_whole(rng, count), dtype) for name, count in counts.items()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        a, b = self._matrices(sizes, inputs)
        return {"c": a @ b}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        a, b = self._matrices(sizes, inputs)
        # Σ|a||b| over a row and a column is at most the product of their norms (Cauchy–Schwarz). It
        # also bounds the result, which is rounded once to 16 bits.
        magnitude = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=0))
        # The tensor cores truncate their float32 sums instead of rounding them (Fasi et al.,
        # Numerical behavior of NVIDIA tensor cores, 2021), which doubles the bound.
        sums = 0.0 if _is_whole(inputs) else 2 * summation_bound(sizes["k"] + 1, 1.0, "float32")
        rounding = machine_epsilon(dtype) / 2 * np.abs(a @ b)
        return {"c": rounding * (1 + sums) + magnitude * sums + np.finfo(np.float32).tiny}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        return Work(2 * (m * k + n * k), 2 * m * n, 2 * m * n * k)

    def _matrices(
        self, sizes: Mapping[str, int], inputs: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """a as m × k and b as k × n, in double precision."""
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        by_columns = sizes["a_by"] == 2, sizes["b_by"] == 2
        a = inputs["a"].reshape((k, m) if by_columns[0] else (m, k)).astype(np.float64)
        b = inputs["b"].reshape((n, k) if by_columns[1] else (k, n)).astype(np.float64)
        return a.T if by_columns[0] else a, b.T if by_columns[1] else b


def _whole(rng: np.random.Generator, count: int) -> Array:
    sign = rng.integers(0, 2, count, dtype=np.int8) * 2 - 1
    return (rng.integers(1, 5, count, dtype=np.int8) * sign).astype(np.float32)


def _is_whole(inputs: Mapping[str, Array]) -> bool:
    return all(not np.any(x[:1024].astype(np.float32) % 1) for x in inputs.values())
