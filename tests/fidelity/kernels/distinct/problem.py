"""The set of keys that occur: all threads store the same number, so the order of stores does not
matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

SLOTS = 1024


class Distinct(Problem):
    title = "table[k] = k where k is among the keys, else 0"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("key", "input", "uint32", sizes["n"]),
            Buffer("table", "output", "uint32", SLOTS),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        return {"key": rng.integers(1, SLOTS, sizes["n"]).astype(np.uint32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        table = np.zeros(SLOTS)
        table[inputs["key"]] = inputs["key"]
        return {"table": table}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"table": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * SLOTS, flops=0)
