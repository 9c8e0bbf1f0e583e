"""The largest value of each of 64 groups: atomics whose operands vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

GROUPS = 64


class GroupMax(Problem):
    title = "largest[g] = the largest value with key g"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("key", "input", "uint32", n),
            Buffer("value", "input", dtype, n),
            Buffer("largest", "output", dtype, GROUPS),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        limit = np.iinfo(dtype).max
        return {
            "key": rng.integers(GROUPS, size=sizes["n"]).astype(np.uint32),
            "value": rng.integers(-limit, limit, sizes["n"]).astype(dtype),
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        largest = np.full(GROUPS, np.iinfo(dtype).min, dtype)
        np.maximum.at(largest, inputs["key"], inputs["value"])
        return {"largest": largest.astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"largest": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        return Work((4 + size) * sizes["n"], size * GROUPS, flops=0)
