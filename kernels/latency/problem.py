"""The latency of a load, by the memory level that holds its word: one thread follows a chain.

Each word of `next` names the following one. The kernel itself measures the cycles per step of the
chain, because the time of a launch also includes its start and end, and the preceding pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

LINE = 16
"""The minimum step in words: 16 words of 8 bytes fill a cache line of 128 bytes."""
MOST_CYCLES = 100_000.0


class Latency(Problem):
    title = "last[0] = where a chain of loads ends; cycles[0] = the cycles that one of them takes"
    timed_inputs = (
        "a chain that visits every cache line once, in an order by chance, so that no line is "
        "fetched before it is asked for. How many lines there are decides which level holds them."
    )
    no_roof = "one thread waits for one load after the other, to see how long that is"
    readings: Mapping[str, str] = {"cycles": "cycles per load"}
    changed_together: Mapping[str, int] = {"next": 0}  # a changed word closes the chain too early

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        words = sizes["words"]
        return [
            Buffer("next", "input", dtype, words),
            Buffer("chain", "scratch", "uint64", words),
            Buffer("last", "output", dtype, 1),
            Buffer("cycles", "output", "float32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        lines = _lines(sizes)
        following = np.arange(sizes["words"], dtype=np.uint32)[::-1].copy()  # off the chain
        order = rng.permutation(lines) if draw % 2 == 0 else np.arange(lines)
        following[LINE * order] = LINE * np.roll(order, -1)
        return {"next": following}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        place = 0
        for _ in range(2 * hops(sizes)):
            place = int(inputs["next"][place])
        return {"last": np.array([place], np.float64), "cycles": np.zeros(1)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"last": 0.0, "cycles": MOST_CYCLES}  # rejects only impossible values

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        return Work(read_bytes=4 * sizes["words"], written_bytes=8, flops=0)


def _lines(sizes: Mapping[str, int]) -> int:
    return max(1, sizes["words"] // LINE)


def hops(sizes: Mapping[str, int]) -> int:
    """The number of steps per half, as in bench.yaml: once around a chain that fits in the L2
    cache, but only part of a longer chain."""
    return max(4096, min(_lines(sizes), 2**15))
