"""The frequency of each of 256 values; the inputs are spread over all bins, or all in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

BINS = 256


class Histogram(Problem):
    title = "counts[b] = how many values are b, b = 0 … 255"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("values", "input", "uint32", sizes["n"]),
            Buffer("counts", "output", "uint32", BINS),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        # `distinct` = 1 is the worst case of an atomic: every lane on the same word.
        first = int(rng.integers(BINS - sizes["distinct"] + 1))
        values = first + rng.integers(sizes["distinct"], size=sizes["n"])
        return {"values": values.astype(np.uint32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"counts": np.bincount(inputs["values"], minlength=BINS).astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"counts": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * BINS, flops=0)
