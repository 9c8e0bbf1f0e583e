"""Attention of a single token: softmax(q kᵀ / √d) v with one query per head, against a cache of
keys and values that a group of heads shares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness.dtypes import rounded
from harness.problem import (
    Array,
    Buffer,
    Problem,
    Work,
    machine_epsilon,
    numpy_dtype,
    summation_bound,
)

MOST_PARTS = 256
"""The maximum number of parts into which a cache may be split. There is scratch memory for this
many, and the matrix sets the same limit."""


class AttentionDecode(Problem):
    title = "o = softmax(q kᵀ / √d) v, one query a head; heads share n keys and values in groups"
    timed_inputs = (
        "normal queries and keys, whose scores then have a spread of 1; values between −1 and 1. "
        "No instruction depends on them."
    )

    # torch multiplies floats on tensor cores, each product as three TF32 products: see
    # kernels/attention/with_torch.py.
    library_arithmetic: Mapping[str, str] = {"float32": "3 tf32"}

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        queries = sizes["batch"] * sizes["heads"]
        pairs = sizes["batch"] * sizes["kv_heads"]
        cached = pairs * sizes["n"] * sizes["d"]
        return [
            Buffer("q", "input", dtype, queries * sizes["d"]),
            Buffer("k", "input", dtype, cached),
            Buffer("v", "input", dtype, cached),
            Buffer("o", "output", dtype, queries * sizes["d"]),
            # For each part of a cache: the weighted sum of its values; its largest score and the
            # sum of its weights.
            Buffer("part_values", "scratch", "float32", queries * MOST_PARTS * sizes["d"]),
            Buffer("part_states", "scratch", "float32", queries * MOST_PARTS * 2),
            Buffer("finished", "zeroed", "uint32", pairs),  # counts the finished parts
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        q_shape, cache_shape = _shapes(sizes)
        q = rng.standard_normal(q_shape, dtype=np.float32)
        if draw % 2 == 1:
            # Scores of several hundred overflow unless the largest is subtracted. A query of zeros
            # makes all weights equal, so leaving out a key changes the result.
            q *= 64
            q[:, ::2] = 0
        k = rng.standard_normal(cache_shape, dtype=np.float32)
        v = rng.random(cache_shape, dtype=np.float32)
        v *= 2
        v -= 1
        made = {"q": q, "k": k, "v": v}
        return {name: rounded(x.reshape(-1), dtype) for name, x in made.items()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        outputs = []
        for _, _, v, weights in _by_pair(sizes, inputs):
            outputs.append((weights @ v) / weights.sum(axis=1, keepdims=True))
        return {"o": np.stack(outputs)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        n, d = sizes["n"], sizes["d"]
        # Sums are always in float32. A score is a scaled sum of d products. The exponential takes a
        # rounded multiple of it and is itself accurate to 2^-21. So is each factor that rescales
        # earlier sums: at every new largest score, about ln n times, and wherever warps and parts
        # are combined.
        unit = machine_epsilon("float32") / 2
        of_scores = summation_bound(d + 3, 1.0, "float32") + 4 * unit
        of_powers = (3 + 2 * math.log2(n)) * 2.0**-21
        bounds = []
        for q, k, v, weights in _by_pair(sizes, inputs):
            # For each query, no score is larger than this (Cauchy–Schwarz).
            score = np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1).max() / math.sqrt(d)
            # A weight is a quotient of two exponentials. The output is a sum of n products.
            relative = 2 * np.expm1(score * of_scores + of_powers)
            relative += summation_bound(2 * n, 1.0, "float32")
            lost = 0.0
            if dtype != "float32":
                # Weights are rounded before the tensor cores multiply them, the small ones to a
                # multiple of 2^-24 if the largest is 1. The result is rounded, too.
                relative += machine_epsilon(dtype)
                lost = n * 2.0**-25
            total = weights.sum(axis=1, keepdims=True)
            size = np.abs(v)
            bounds.append((relative[:, None] * (weights @ size) + lost * size.max()) / total)
        return {"o": np.stack(bounds)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        q_shape, cache_shape = _shapes(sizes)
        size = numpy_dtype(dtype).itemsize
        scores = sizes["batch"] * sizes["heads"] * sizes["n"]
        # Two products; for the softmax, a scaling, a subtraction, an addition and a division.
        return Work(
            size * (math.prod(q_shape) + 2 * math.prod(cache_shape)),
            size * math.prod(q_shape),
            4 * scores * (sizes["d"] + 1),
            exponentials=scores,
        )


def _shapes(sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of q, and of k and v, with one leading index per pair of a sequence and a kv head.

    The heads of a group are consecutive, so each pair's rows of q are contiguous.
    """
    pairs, group = sizes["batch"] * sizes["kv_heads"], sizes["heads"] // sizes["kv_heads"]
    return (pairs, group, sizes["d"]), (pairs, sizes["n"], sizes["d"])


def _by_pair(
    sizes: Mapping[str, int], inputs: Mapping[str, Array]
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield the queries, keys, values and weights of each pair in float64; the largest weight of a
    query is 1."""
    q_shape, cache_shape = _shapes(sizes)
    shaped = (
        inputs["q"].reshape(q_shape),
        inputs["k"].reshape(cache_shape),
        inputs["v"].reshape(cache_shape),
    )
    for of_pair in zip(*shaped, strict=True):
        q, k, v = (x.astype(np.float64) for x in of_pair)
        scores = q @ k.T / math.sqrt(sizes["d"])
        yield q, k, v, np.exp(scores - scores.max(axis=1, keepdims=True))
