"""The gradient of upsample_nearest_2d: sums of 2 × 2 pixels, limited by reading them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class UpsampleNearest2dBackward(Problem):
    title = "dx[p][i][j] = Σ dy[p][2i + a][2j + b], a, b = 0, 1, of planes of h × w"
    timed_inputs = "normal gradients. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        pixels = sizes["planes"] * sizes["h"] * sizes["w"]
        return [Buffer("dy", "input", dtype, 4 * pixels), Buffer("dx", "output", dtype, pixels)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        count = 4 * sizes["planes"] * sizes["h"] * sizes["w"]
        if draw % 2 == 0:
            return {"dy": rng.standard_normal(count, dtype=np.float32)}
        return {"dy": rng.integers(-9, 10, count, dtype=np.int8).astype(np.float32)}  # exact sums

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        upper, lower = _rows(sizes, inputs["dy"])
        return {"dx": _pairs(upper) + _pairs(lower)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["dy"][:1024] % 1):
            return {"dx": 0}  # whole numbers
        largest = max(float(inputs["dy"].max()), -float(inputs["dy"].min()))
        return {"dx": summation_bound(4, 4 * largest, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        pixels = sizes["planes"] * sizes["h"] * sizes["w"]
        size = np.dtype(dtype).itemsize
        return Work(read_bytes=4 * size * pixels, written_bytes=size * pixels, flops=3 * pixels)


def _rows(sizes: Mapping[str, int], dy: Array) -> tuple[Array, Array]:
    rows = dy.reshape(sizes["planes"] * sizes["h"], 2, 2 * sizes["w"])
    return rows[:, 0], rows[:, 1]


def _pairs(rows: Array) -> Array:
    """The sums of neighbouring elements of a row, in float64."""
    return np.add(rows[:, ::2], rows[:, 1::2], dtype=np.float64)
