"""Subnormal numbers are added to zero, and each is either kept or lost.

The numbers are given as bit patterns, because timed float inputs must not be subnormal. The
output is the percentage of them that was lost. Any percentage is correct: according to the manual,
the outcome depends on where the sum is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

LEAST_NORMAL = 1 << 23
"""The bit pattern of the smallest normal float; smaller patterns, except zero, are subnormal."""


class AtomicSubnormals(Problem):
    title = "lost[0] = per cent of the subnormal floats x[i] that are 0 after 0 + x[i]"
    timed_inputs = "the bits of subnormal floats, each as likely as another: the question itself."
    no_roof = "it asks what an addition gives, not how fast"
    readings: Mapping[str, str] = {"lost": "% of subnormal additions lost"}

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("bits", "input", "uint32", n),
            Buffer("sums", "scratch", dtype, n),
            Buffer("lost", "output", dtype, 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        bits = rng.integers(1, LEAST_NORMAL, sizes["n"], np.uint32)
        if draw % 2 == 1:
            bits |= np.uint32(1 << 31)  # negative ones
        return {"bits": bits}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"lost": np.full(1, 50.0)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"lost": 50.0}  # a measurement: only impossible values are rejected

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["n"], written_bytes=4, flops=sizes["n"])
