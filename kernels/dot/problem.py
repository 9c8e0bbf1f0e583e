"""The inner product of two vectors: limited by reading them, a test of what 16 bits can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.dtypes import rounded
from harness.problem import (
    Array,
    Buffer,
    Problem,
    Work,
    machine_epsilon,
    numpy_dtype,
    smallest_normal,
    summation_bound,
)

HALF_CHAIN = 4096
"""The maximum number of successive additions that a variant may make in 16 bits: by a thread, in
the tree, and across blocks."""

TERMS_OF_AN_ADDITION = 128
"""The minimum number of terms for each such addition if n is small: a block of 256 threads
processes at least this many terms per addition."""


class Dot(Problem):
    title = "output[0] = Σ a[i] b[i], i = 0 … n − 1"
    timed_inputs = (
        "numbers between −1 and 1, whose products cancel as those of embeddings do. No "
        "instruction depends on them."
    )

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("a", "input", dtype, n),
            Buffer("b", "input", dtype, n),
            Buffer("output", "output", dtype, 1),
            # For combining the blocks' sums before they become the output.
            Buffer("pair", "scratch", dtype, 2),
            Buffer("total", "scratch", "float32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n, numpy = sizes["n"], numpy_dtype(dtype)
        if draw % 2 == 0:
            # Around zero, so that the sum of 2^28 products is far below the largest half, 65504.
            a, b = (rng.random(n, np.float32) * np.float32(2) - np.float32(1) for _ in range(2))
            return {"a": rounded(a, dtype), "b": rounded(b, dtype)}
        # Whole numbers whose partial sums are all exact, in any order. In 16 bits this requires
        # |sums| <= 2 / eps, 2048 for halves and 256 for bfloat16. If there are more elements, only
        # about half that many elements of b are nonzero.
        a, b = (rng.integers(0, 2, n, np.int8) * np.int8(2) - np.int8(1) for _ in range(2))
        if dtype == "float32":
            a *= rng.integers(1, 9, n, dtype=np.int8)
        elif n > (exact := int(2 / machine_epsilon(dtype))):
            kept = np.concatenate([rng.integers(0, n, exact // 2), np.arange(n - 16, n)])
            signs = b[kept]
            b[:] = 0
            b[kept] = signs
        return {"a": a.astype(numpy), "b": b.astype(numpy)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"output": np.array([math.fsum(p.sum() for p in _products(inputs))])}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["a"][:1024] % 1):
            return {"output": 0.0}  # whole numbers
        n = sizes["n"]
        if dtype == "float32":
            magnitude = math.fsum(np.abs(p).sum() for p in _products(inputs))
            return {"output": summation_bound(2 * n, magnitude, dtype)}  # a product rounds once
        # A bound that holds for every sum in 16 bits would be larger than the sum. But rounding
        # errors are independent: with u = eps / 2, the error of an addition at the partial sum s
        # has the variance (u s)² / 3. The terms p are known, but not their order or grouping, so
        # after a fraction t of a chain, s has the mean t Σp and the variance t (1 − t) Σp². The
        # average of s² is therefore (Σp)² / 3 + Σp² / 6 in a chain of all terms, and Σp² / 2 in
        # total if many chains share the terms. The larger of the two covers every case in between.
        # Σp dominates if the terms are not centred on zero, as in the other state of timed inputs,
        # whose changed elements are all large (harness/worker/states.py). Six standard deviations
        # are allowed.
        products = [(p.sum(), np.square(p).sum()) for p in _products(inputs)]
        total, squares = (math.fsum(column) for column in zip(*products, strict=True))
        u = machine_epsilon(dtype) / 2
        # The tree, the products and the last rounding count as 16 further additions.
        chain = min(-(-n // TERMS_OF_AN_ADDITION), HALF_CHAIN) + 16
        partial = max(total**2, squares) / 3 + squares / 6
        return {"output": 6 * u * math.sqrt(chain * partial / 3) + smallest_normal(dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = numpy_dtype(dtype).itemsize
        return Work(2 * size * sizes["n"], size, 2 * sizes["n"] - 1)

    def library(self, tensors: Mapping[str, Any]) -> Any:
        import torch

        return torch.dot(tensors["a"], tensors["b"])


def _products(inputs: Mapping[str, Array]) -> Iterator[Array]:
    """Yield the products in float64, where they are exact, in pieces that fit in a cache."""
    step = 2**18
    for i in range(0, len(inputs["a"]), step):
        piece = slice(i, i + step)
        yield np.multiply(inputs["a"][piece], inputs["b"][piece], dtype=np.float64)
