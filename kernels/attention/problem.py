"""Scaled dot-product attention, over all keys or causal: softmax(q kᵀ / √d) v for each head."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

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

CAUSAL = 2
"""The value of `mask` for which a query attends only to the keys up to its own position."""


class Attention(Problem):
    title = "o[h] = softmax(q[h] k[h]ᵀ / √d) v[h], each of n × d; causal or of all keys"
    timed_inputs = (
        "normal queries and keys, whose scores then have a spread of 1, as at the start of "
        "training; values between −1 and 1. No instruction depends on them."
    )

    # torch multiplies floats on tensor cores, each product as three TF32 products: see
    # with_torch.py.
    library_arithmetic: Mapping[str, str] = {"float32": "3 tf32"}

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        heads, n, d = sizes["heads"], sizes["n"], sizes["d"]
        return [
            *(Buffer(name, "input", dtype, heads * n * d) for name in ("q", "k", "v")),
            Buffer("o", "output", dtype, heads * n * d),
            # Used only by variants that write the weights to memory: 4 GiB for 64 heads of 4096.
            Buffer("scores", "scratch", "float32", heads * n * n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        shape = sizes["heads"], sizes["n"], sizes["d"]
        q = rng.standard_normal(shape, dtype=np.float32)
        if draw % 2 == 1:
            # Scores of several hundred overflow unless the largest is subtracted. A query of zeros
            # makes all weights equal, so leaving out a key changes the result.
            q *= 64
            q[:, ::2] = 0
        k = rng.standard_normal(shape, dtype=np.float32)
        v = rng.random(shape, dtype=np.float32) * 2 - 1
        made = {"q": q, "k": k, "v": v}
        return {name: rounded(x.reshape(-1), dtype) for name, x in made.items()}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        o = np.empty((sizes["heads"], sizes["n"], sizes["d"]))
        for head, (q, k, v) in enumerate(zip(*_heads(sizes, inputs), strict=True)):
            weights = q @ k.T
            weights *= 1 / math.sqrt(sizes["d"])
            if sizes["mask"] == CAUSAL:
                weights[np.triu_indices(sizes["n"], 1)] = -np.inf
            weights -= weights.max(axis=1, keepdims=True)
            np.exp(weights, out=weights)
            o[head] = (weights @ v) / weights.sum(axis=1, keepdims=True)
        return {"o": o}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        n, d = sizes["n"], sizes["d"]
        q, k, v = _heads(sizes, inputs)
        # For each query, no score is larger than this (Cauchy–Schwarz).
        longest = np.linalg.norm(k, axis=2).max(axis=1)[:, None]
        score = np.linalg.norm(q, axis=2) * longest / math.sqrt(d)
        # Sums are always in float32. A score is a scaled sum of d products. The exponential takes a
        # rounded multiple of it and is itself accurate to 2^-21. A weight is a quotient of two
        # exponentials. The output is a sum of n products; those already added are sometimes
        # rescaled.
        unit = machine_epsilon("float32") / 2
        exponent = score * (summation_bound(d + 2, 1.0, "float32") + 4 * unit) + 2.0**-21
        relative = 2 * np.expm1(exponent) + summation_bound(2 * n, 1.0, "float32")
        if dtype != "float32":
            # Weights are rounded before the tensor cores multiply them, the small ones to a
            # multiple of 2^-24 if the largest is 1. The result is rounded, too.
            relative = relative + machine_epsilon(dtype) + n * 2.0**-25
        return {"o": np.abs(v).max() * np.repeat(relative[:, :, None], d, axis=2)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        heads, n, d = sizes["heads"], sizes["n"], sizes["d"]
        nbytes = numpy_dtype(dtype).itemsize * heads * n * d
        # Two matrix products; for the softmax, a scaling, a subtraction, an addition and a
        # division.
        scores = heads * (n * (n + 1) // 2 if sizes["mask"] == CAUSAL else n * n)
        return Work(3 * nbytes, nbytes, 4 * scores * (d + 1), exponentials=scores)


def _heads(sizes: Mapping[str, int], inputs: Mapping[str, Array]) -> list[Array]:
    """q, k and v in float64, as heads × n × d."""
    shape = sizes["heads"], sizes["n"], sizes["d"]
    return [inputs[name].reshape(shape).astype(np.float64) for name in ("q", "k", "v")]
