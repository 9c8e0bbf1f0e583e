"""A matrix times a vector: limited by reading the matrix once, whatever its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound

CHUNK = 4096
"""The minimum number of columns that a block sums if rows are split, the same as in bench.yaml."""


class Sgemv(Problem):
    title = "y[i] = Σ a[i][j] x[j], a of m × k, row-major"
    timed_inputs = "normal factors. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        m, k = sizes["m"], sizes["k"]
        return [
            Buffer("a", "input", dtype, m * k),
            Buffer("x", "input", dtype, k),
            Buffer("y", "output", dtype, m),
            Buffer("partials", "scratch", dtype, m * -(-k // CHUNK)),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        m, k = sizes["m"], sizes["k"]
        if draw % 2 == 0:
            return {
                "a": rng.standard_normal(m * k, dtype=np.float32),
                "x": rng.standard_normal(k, dtype=np.float32),
            }
        # ±1 and ±2: every partial sum is exact, so one product lost or added twice cannot hide.
        return {"a": _whole(rng, m * k), "x": _whole(rng, k)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        x = inputs["x"].astype(np.float64)
        return {"y": np.concatenate([rows @ x for rows in _blocks(sizes, inputs)])}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["a"][:1024] % 1) and not np.any(inputs["x"][:1024] % 1):
            return {"y": 0.5}  # whole numbers: |partial sums| < 8 √k · 4 < 2^24, exact
        # Σ|a||x| is at most the product of the norms (Cauchy–Schwarz). Each product adds
        # one rounding to those of the additions.
        norms = [np.sqrt(np.einsum("ij,ij->i", rows, rows)) for rows in _blocks(sizes, inputs)]
        magnitude = np.concatenate(norms) * float(np.linalg.norm(inputs["x"].astype(np.float64)))
        return {"y": magnitude * summation_bound(sizes["k"] + 1, 1.0, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        m, k = sizes["m"], sizes["k"]
        size = np.dtype(dtype).itemsize
        return Work(size * (m * k + k), size * m, 2 * m * k)


def _blocks(sizes: Mapping[str, int], inputs: Mapping[str, Array]) -> Iterator[Array]:
    """Yield some rows of `a` at a time in float64: the whole matrix would take gigabytes."""
    a = inputs["a"].reshape(sizes["m"], sizes["k"])
    step = max(1, 2**21 // sizes["k"])
    for first in range(0, len(a), step):
        yield a[first : first + step].astype(np.float64)


def _whole(rng: np.random.Generator, count: int) -> Array:
    values = rng.integers(0, 4, count, dtype=np.int8)
    return np.array([-2, -1, 1, 2], np.float32)[values]
