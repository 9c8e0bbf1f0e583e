"""A grey image converted to black and white: accesses narrower than a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

LEVEL = 127
"""The threshold that bench.yaml passes."""


class Threshold(Problem):
    title = "y[i] = 255 where x[i] > 127, else 0"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", "uint8", n), Buffer("y", "output", "uint8", n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"x": rng.integers(256, size=sizes["n"]).astype(np.uint8)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": np.where(inputs["x"] > LEVEL, 255.0, 0.0)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=sizes["n"], written_bytes=sizes["n"], flops=0)
