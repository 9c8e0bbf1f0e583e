"""Rows added by index: a scatter in which several rows may have the same target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.dtypes import rounded, smallest_normal
from harness.problem import (
    Array,
    Buffer,
    Problem,
    Work,
    machine_epsilon,
    numpy_dtype,
    summation_bound,
)

STEP = 8  # columns that the reference adds up at once

DEVIATIONS = 16
"""The tolerance of a sum in 16 bits, in standard deviations of its rounding error.

The error is not normally distributed, because in a few orders the partial sums stay far from zero
for a long time. Among sums of 1024 rows, a fraction of 3.5e-5 is off by more than 4 deviations, and
a tenth of that by more than 5 (tests/kernels/test_index_add.py). A run compares a billion sums.
With 8 deviations, correct results of an H100 were rejected in one timed launch.
"""


class IndexAdd(Problem):
    title = "output[t][c] = Σ source[r][c] over all r with index[r] = t"
    timed_inputs = (
        "rows of numbers between −0.5 and 0.5 with targets by chance, of which `stretch` "
        "neighbours have the same: 1, or 32, as edges of a graph that are sorted by node. How many "
        "share a target decides the time, rows / targets on average, and whether they come "
        "together: all of these are sizes."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        rows, cols, targets = sizes["rows"], sizes["cols"], sizes["targets"]
        return [
            Buffer("source", "input", dtype, rows * cols),
            Buffer("index", "input", "int32", rows),
            Buffer("output", "output", dtype, targets * cols),
            # For the variants that first group the rows by target.
            Buffer("counts", "scratch", "int32", targets),
            Buffer("ends", "scratch", "int32", targets),
            Buffer("order", "scratch", "int32", rows),
            Buffer("numbers", "scratch", "int32", rows),
            Buffer("sorted", "scratch", "int32", rows),
            Buffer("total", "scratch", "int32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        if draw % 2 == 0:
            values = rng.random(rows * cols, dtype=np.float32) - np.float32(0.5)
        else:
            # -1, 0 and 1: sums are exact in 16 bits too, so one row too many or too few shows.
            values = rng.integers(-1, 2, rows * cols, dtype=np.int8).astype(np.float32)
        stretch = sizes.get("stretch", 1)
        index = rng.integers(0, sizes["targets"], -(-rows // stretch), dtype=np.int32)
        index = np.repeat(index, stretch)[:rows]
        return {"source": rounded(values, dtype), "index": index}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": self._added(sizes, inputs["source"], inputs["index"])}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """Bound the error of atomic additions in any order, each rounded to the output's type."""
        source, index = inputs["source"], inputs["index"]
        if not np.any(source[:1024] % 1):
            # Exact up to 2 / eps: 2^24 in float32, 2048 in float16, and 256 in bfloat16, which is
            # nearly ten standard deviations of the sum of 1024 rows.
            return {"output": 0}
        if dtype == "float32":
            bound = self._added(sizes, np.abs(source), index)
            bound *= summation_bound(int(np.bincount(index).max()), 1.0, dtype)
        else:
            bound = self._deviation(sizes, dtype, source, index)
            bound *= DEVIATIONS
        bound += smallest_normal(dtype)
        return {"output": bound}

    def _deviation(
        self, sizes: Mapping[str, int], dtype: str, source: Array, index: Array
    ) -> Array:
        """The standard deviation of a sum in which every addition rounds to 16 bits.

        In bfloat16, a bound that holds for every sum of 256 rows exceeds the sum of their
        magnitudes. The estimate is that of kernels/dot/problem.py. With u = eps / 2, the error of
        an addition at the partial sum s has the variance (u s)² / 3. For terms p in any order, the
        average of s² is at most the larger of (Σp)² and Σp², divided by 3, plus Σp² / 6. The first
        addition, to zero, is exact.
        """
        u = machine_epsilon(dtype) / 2
        partial = self._added(sizes, np.square(source, dtype=np.float32), index)
        sums = self._added(sizes, source, index)
        np.square(sums, out=sums)
        np.maximum(sums, partial, out=sums)
        partial /= 6
        sums /= 3
        partial += sums
        additions = np.bincount(index, minlength=sizes["targets"]).clip(1) - 1
        partial *= (additions * (u * u / 3))[:, np.newaxis]
        return np.sqrt(partial, out=partial)

    def _added(self, sizes: Mapping[str, int], source: Array, index: Array) -> Array:
        """Compute the sums in float64: sort the rows by target, then sum each target's rows."""
        rows, cols = sizes["rows"], sizes["cols"]
        order = np.argsort(index, kind="stable")
        targets, starts = np.unique(index[order], return_index=True)
        output = np.zeros((sizes["targets"], cols), np.float64)
        matrix = source.reshape(rows, cols)
        for first in range(0, cols, STEP):
            part = matrix[:, first : first + STEP].astype(np.float64)[order]
            output[targets, first : first + STEP] = np.add.reduceat(part, starts, axis=0)
        return output

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = numpy_dtype(dtype).itemsize
        rows, cols = sizes["rows"], sizes["cols"]
        return Work(
            read_bytes=size * rows * cols + 4 * rows,
            written_bytes=size * sizes["targets"] * cols,
            flops=rows * cols,
        )
