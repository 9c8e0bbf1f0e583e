"""The sign of n integers. −1, one of the three possible values, has the same bits as memory filled
with 0xFF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Sign(Problem):
    title = "y[i] = −1, 0 or 1 as x[i] is"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [Buffer(name, role, dtype, sizes["n"]) for name, role in
                (("x", "input"), ("y", "output"))]  # type: ignore[arg-type]  # fmt: skip

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        # The first is negative, so that every size has a −1 among its results.
        x = rng.integers(-2, 3, sizes["n"], dtype=dtype)
        x[0] = -1 - draw
        return {"x": x}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": np.sign(inputs["x"]).astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 0.5}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * sizes["n"], flops=0)
