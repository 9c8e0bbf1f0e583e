"""Images twice as high and wide, by repeating pixels: limited by writing the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class UpsampleNearest2d(Problem):
    title = "y[p][i][j] = x[p][i // 2][j // 2], of planes of h × w"
    timed_inputs = "normal pixels. No instruction depends on them."

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        pixels = sizes["planes"] * sizes["h"] * sizes["w"]
        return [Buffer("x", "input", dtype, pixels), Buffer("y", "output", dtype, 4 * pixels)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        pixels = sizes["planes"] * sizes["h"] * sizes["w"]
        x = rng.standard_normal(pixels, dtype=np.float32)
        if draw % 2 == 1:  # the largest and smallest floats, which a copy must not change
            x[::3] = np.finfo(np.float32).max
            x[1::3] *= np.float32(1e-42)
        return {"x": x}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        x = inputs["x"].reshape(sizes["planes"] * sizes["h"], 1, sizes["w"], 1)
        shape = (x.shape[0], 2, sizes["w"], 2)
        return {"y": np.broadcast_to(x, shape).astype(np.float64).reshape(-1)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 0}  # a copy is exact

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        nbytes = np.dtype(dtype).itemsize * sizes["planes"] * sizes["h"] * sizes["w"]
        return Work(read_bytes=nbytes, written_bytes=4 * nbytes, flops=0)
