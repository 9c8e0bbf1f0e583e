"""The frequency of the most common digit: 16 counters per thread, indexed by data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Digits(Problem):
    title = "most[i] = occurrences of the commonest hexadecimal digit of x[i]"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [Buffer("x", "input", "uint32", n), Buffer("most", "output", "uint32", n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        # Half of the numbers have few different digits, so that all of 1 … 8 occur.
        x = rng.integers(2**32, size=sizes["n"], dtype=np.uint64)
        plain = rng.integers(1, 16, sizes["n"], dtype=np.uint64) * 0x11111111
        return {"x": np.where(rng.random(sizes["n"]) < 0.5, x, plain).astype(np.uint32)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        digits = inputs["x"][:, None] >> (4 * np.arange(8, dtype=np.uint32)) & 15
        return {"most": (digits[:, :, None] == np.arange(16)).sum(axis=1).max(axis=1) * 1.0}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"most": 0.25}  # whole numbers: right or wrong

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4 * sizes["n"], flops=0)
