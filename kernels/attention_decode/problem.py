"""A token's attention: softmax(q kᵀ / √d) v of one query per head, against a cache of keys and
values that a group of heads shares."""

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
"""Into how many parts a cache may be cut, at most: there is scratch memory for these. The matrix
says the same."""


class AttentionDecode(Problem):
    title = "o = softmax(q kᵀ / √d) v, one query a head; heads share n keys and values in groups"
    timed_inputs = (
        "normal queries and keys, whose scores then have a spread of 1; values between −1 and 1. "
        "No instruction depends on them."
    )

    # torch multiplies floats by tensor cores, each product as three of TF32: with_torch.py of
    # attention.
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
            # Of each part of a cache: the weighted sum of its values; its largest score and the
            # sum of its weights.
            Buffer("part_values", "scratch", "float32", queries * MOST_PARTS * sizes["d"]),
            Buffer("part_states", "scratch", "float32", queries * MOST_PARTS * 2),
            Buffer("finished", "zeroed", "uint32", pairs),  # parts
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        q_shape, cache_shape = _shapes(sizes)
        q = rng.standard_normal(q_shape, dtype=np.float32)
        if draw % 2 == 1:
            # Scores of some hundreds overflow without their largest subtracted; and a query of
            # zeros makes all weights the same, so that no key can be left out unseen.
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
        # Sums are in float32 in any case. A score is a sum of d products, scaled; the exponential
        # takes a rounded multiple of it and is itself good to 2^-21. So is each factor by which
        # what came before is rescaled where a new largest score comes, about ln n times, and where
        # warps and parts are put together.
        unit = machine_epsilon("float32") / 2
        of_scores = summation_bound(d + 3, 1.0, "float32") + 4 * unit
        of_powers = (3 + 2 * math.log2(n)) * 2.0**-21
        bounds = []
        for q, k, v, weights in _by_pair(sizes, inputs):
            # No score is larger than this (Cauchy–Schwarz), for each query.
            score = np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1).max() / math.sqrt(d)
            # A weight is a quotient of two exponentials; what is added up is n products.
            relative = 2 * np.expm1(score * of_scores + of_powers)
            relative += summation_bound(2 * n, 1.0, "float32")
            lost = 0.0
            if dtype != "float32":
                # Weights as factors of a tensor core are rounded, the small ones to a multiple of
                # 2^-24 where the largest is 1; and so is the result.
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
        # Two products; of the softmax, a scale, a difference, a sum and a quotient.
        return Work(
            size * (math.prod(q_shape) + 2 * math.prod(cache_shape)),
            size * math.prod(q_shape),
            4 * scores * (sizes["d"] + 1),
            exponentials=scores,
        )


def _shapes(sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of q and of k and v, by pairs of a sequence and a kv head. The heads of a group follow one
    another, so that theirs are the first of q's rows in each pair."""
    pairs, group = sizes["batch"] * sizes["kv_heads"], sizes["heads"] // sizes["kv_heads"]
    return (pairs, group, sizes["d"]), (pairs, sizes["n"], sizes["d"])


def _by_pair(
    sizes: Mapping[str, int], inputs: Mapping[str, Array]
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """The group's queries, keys and values of each pair, and the weights where the largest is 1, in
    float64."""
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
