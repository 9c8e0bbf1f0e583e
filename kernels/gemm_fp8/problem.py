"""The product of two matrices of 8-bit floats, E4M3, with a result in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.dtypes import rounded
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon

FACTORS = "float8_e4m3"
STEP = 32
"""The number of products along k that the tensor cores add up at a time."""
UNIT = 2.0**-13
"""The last bit of those sums, relative to the power of two of the largest addend."""


class Gemm(Problem):
    title = "c[i][j] = Σ a[i][l] b[j][l] of 8-bit floats, a of m × k, b of n × k, row-major"
    timed_inputs = (
        "normal factors. No instruction depends on them; zeros would draw less power and so run "
        "at a higher clock."
    )
    no_roof = "the rate of 8-bit products is not among the ceilings that a run measures"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        return [
            Buffer("a", "input", FACTORS, m * k),
            Buffer("b", "input", FACTORS, n * k),
            Buffer("c", "output", dtype, m * n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        counts = {"a": sizes["m"] * sizes["k"], "b": sizes["n"] * sizes["k"]}
        if draw % 2 == 0:
            return {
                name: rounded(rng.standard_normal(count, dtype=np.float32), FACTORS)
                for name, count in counts.items()
            }
        # ±1 … ±4: every sum below 2^13 is exact, so no product can be lost unnoticed.
        return {name: rounded(_whole(rng, count), FACTORS) for name, count in counts.items()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        a, b = self._matrices(sizes, inputs)
        return {"c": a @ b.T}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        a, b = self._matrices(sizes, inputs)
        k = sizes["k"]
        exact = np.abs(a @ b.T)
        rounding = machine_epsilon(dtype) / 2 * exact + np.finfo(np.float32).tiny
        if _is_whole(inputs):
            return {"c": rounding}
        # Hopper's tensor cores align 32 products and the sum so far to the largest of them, keep
        # 14 bits of each and truncate the rest (DeepSeek-V3 Technical Report, 2024, section 3.5.2,
        # on the accumulation of FP8). A step therefore adds 33 truncation errors of up to one unit
        # each, of either sign: about 2 units in the root mean square, which grow like √steps.
        # The sum so far is rarely more than four times its own root mean square, |a||b| / √k. Eight
        # times this error is allowed.
        largest = 4 * np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) / np.sqrt(k)
        return {"c": rounding + 16 * np.sqrt(-(-k // STEP)) * UNIT * largest}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        return Work(m * k + n * k, 2 * m * n, 2 * m * n * k)

    def _matrices(
        self, sizes: Mapping[str, int], inputs: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        m, n, k = sizes["m"], sizes["n"], sizes["k"]
        a, b = inputs["a"].reshape(m, k), inputs["b"].reshape(n, k)
        return a.astype(np.float64), b.astype(np.float64)


def _whole(rng: np.random.Generator, count: int) -> Array:
    sign = rng.integers(0, 2, count, dtype=np.int8) * 2 - 1
    return (rng.integers(1, 5, count, dtype=np.int8) * sign).astype(np.float32)


def _is_whole(inputs: Mapping[str, Array]) -> bool:
    return all(not np.any(x[:1024].astype(np.float32) % 1) for x in inputs.values())
