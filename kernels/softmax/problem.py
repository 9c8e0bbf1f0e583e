"""The softmax of one long vector: two reductions over all of it, then a step on each element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import smallest_normal
from harness.problem import Array, Buffer, Problem, Work, machine_epsilon, summation_bound

CHUNK = 2**18  # elements that the reference keeps in the cache at a time
LEAST_EXPONENT = np.float32(-87)  # arithmetic on the denormals below it is slow
MOST_BLOCKS = 65_536  # each has a partial maximum and a partial sum


def chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, n, CHUNK))


class Softmax(Problem):
    title = "output[i] = exp(input[i] − max) / Σ exp(input[j] − max)"
    timed_draw = 2
    timed_inputs = (
        "normal logits, as a model gives them. Where logits lie so far apart that quotients are "
        "subnormal numbers, a division takes longer; those draws are for verification alone."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        return [
            Buffer("input", "input", dtype, sizes["n"]),
            Buffer("output", "output", dtype, sizes["n"]),
            Buffer("maxima", "scratch", dtype, MOST_BLOCKS),
            Buffer("sums", "scratch", dtype, MOST_BLOCKS),
            Buffer("barrier", "zeroed", "uint32", 2),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        if draw == self.timed_draw:
            return {"input": rng.standard_normal(sizes["n"], dtype=dtype)}
        values = rng.random(sizes["n"], dtype=dtype)
        if draw % 2 == 0:
            values *= 200
            values -= 100  # exp(100) is beyond float32: the maximum has to be subtracted
        else:
            values *= 20
            values -= 1010  # all negative, all exponentials 0: a maximum that starts at 0 is wrong
        return {"input": values}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        values = inputs["input"]
        top = np.float64(values.max())
        output = np.empty(values.size, np.float64)
        for part in chunks(values.size):
            np.exp(values[part] - top, out=output[part])
        output /= output.sum()
        return {"output": output}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        """Relative to each element: the maximum errors of the exponent, of exp() and of the sum.

        Rounding the exponent d = x − max gives it an error of |d| u, which is a relative error of
        exp(d). If the maximum grows along the way, d is reached in several steps that add up to it,
        each with its own factor. The error of the sum is the mean of this over its terms, plus that
        of its additions. expf() has an error of 2 units in the last place (CUDA C++ Programming
        Guide), and the division adds a few roundings.
        """
        u = machine_epsilon(dtype) / 2
        values = inputs["input"]
        top = values.max()
        bound = np.empty_like(values)
        distance = np.empty(CHUNK, values.dtype)
        total = 0.0
        weighted = 0.0
        for part in chunks(values.size):
            terms = bound[part]
            d = np.subtract(top, values[part], out=distance[: terms.size])
            np.exp(np.maximum(-d, LEAST_EXPONENT), out=terms)
            total += float(terms.sum(dtype=np.float64))
            weighted += float(np.dot(terms, d))
            terms *= d
        # Each term is added once and rescaled as often as the maximum grows.
        shared = weighted / total * u + summation_bound(2 * sizes["n"], 1.0, dtype) + 12 * u
        for part in chunks(values.size):
            terms = np.exp(np.maximum(values[part] - top, LEAST_EXPONENT))
            bound[part] = (bound[part] * u + terms * shared) / total + smallest_normal(dtype)
        return {"output": bound}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize * sizes["n"]
        # A comparison, a subtraction, an exponential, an addition and a division per element.
        # The sum is known only when everything has been read; then each element is needed again.
        return Work(size, size, 5 * sizes["n"], reread_bytes=size, exponentials=sizes["n"])

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.softmax(tensors["input"], dim=0)
