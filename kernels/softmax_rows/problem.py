"""The softmax of each row of a matrix: rows are independent, and each fits in an SM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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

CHUNK = 2**18  # elements that the reference keeps in the cache at a time


def chunks(rows: int, cols: int) -> Iterator[slice]:
    step = max(1, CHUNK // cols)
    return (slice(start, start + step) for start in range(0, rows, step))


class SoftmaxRows(Problem):
    title = "output[r][c] = exp(input[r][c] − max) / Σ exp(input[r][j] − max), max over the row"
    timed_draw = 2
    timed_inputs = (
        "normal logits, as a model gives them. Where logits lie so far apart that quotients are "
        "subnormal numbers, a division takes longer; those draws are for verification alone."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["rows"] * sizes["cols"]
        return [Buffer("input", "input", dtype, n), Buffer("output", "output", dtype, n)]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        if draw == self.timed_draw:
            normal = rng.standard_normal(rows * cols, dtype=np.float32)
            return {"input": rounded(normal, dtype)}
        values = rng.random((rows, cols), dtype=np.float32)
        if draw % 2 == 0:
            values *= 100
            values -= 5  # exp(95) is beyond float32: the maximum has to be subtracted
        else:
            values *= 20
            values -= 1010  # all negative, all exponentials 0: a maximum that starts at 0 is wrong
            values[-1] = values[-1, 0]  # and a constant row
        return {"input": rounded(values.reshape(-1), dtype)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        rows, cols = sizes["rows"], sizes["cols"]
        values = inputs["input"].reshape(rows, cols)
        output = np.empty((rows, cols), np.float64)
        for part in chunks(rows, cols):
            block = values[part].astype(np.float64)
            block -= block.max(axis=1, keepdims=True)
            np.exp(block, out=block)
            np.divide(block, block.sum(axis=1, keepdims=True), out=output[part])
        return {"output": output}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """Relative to each element: the maximum errors of the exponent, of exp() and of the sum.

        Rounding the exponent d = x − max gives it an error of |d| u, which is a relative error of
        exp(d). If the maximum grows along the way, d is reached in several steps that add up to it,
        each with its own factor. The error of the sum is the mean of this over its terms, plus that
        of its additions. expf() has an error of 2 units in the last place (CUDA C++ Programming
        Guide), and the division adds a few roundings. All of this is in float32; the output is
        rounded to its type.
        """
        u, u_output = machine_epsilon("float32") / 2, machine_epsilon(dtype) / 2
        rows, cols = sizes["rows"], sizes["cols"]
        values = inputs["input"].astype(np.float32).reshape(rows, cols)
        bound = np.empty_like(values)
        # Each term is added once and rescaled as often as the maximum grows.
        alike = summation_bound(2 * cols, 1.0, "float32") + 12 * u + u_output
        for part in chunks(rows, cols):
            distance = values[part].max(axis=1, keepdims=True) - values[part]
            terms = np.exp(-distance)
            terms /= terms.sum(axis=1, keepdims=True)
            mean = np.sum(terms * distance, axis=1, keepdims=True)
            bound[part] = terms * ((distance + mean) * u + alike) + smallest_normal(dtype)
        return {"output": bound}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["rows"] * sizes["cols"]
        size = numpy_dtype(dtype).itemsize * n
        # A comparison, a subtraction, an exponential, an addition and a division per element.
        return Work(read_bytes=size, written_bytes=size, flops=5 * n, exponentials=n)
