"""A random permutation: either the reads or the writes are always scattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work


class Permute(Problem):
    title = "y[i] = x[source[i]]"
    partly_read = ("source", "target")  # two forms of the same permutation: a kernel needs only one

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("x", "input", dtype, n),
            Buffer("source", "input", "uint32", n),
            Buffer("target", "input", "uint32", n),
            Buffer("y", "output", dtype, n),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        source = rng.permutation(sizes["n"]).astype(np.uint32)
        return {
            "x": rng.standard_normal(sizes["n"]).astype(dtype),
            "source": source,
            "target": np.argsort(source).astype(np.uint32),
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        return {"y": inputs["x"][inputs["source"]].astype(np.float64)}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"y": 1e-30}  # nothing is computed

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        nbytes = np.dtype(dtype).itemsize * sizes["n"]
        return Work(read_bytes=nbytes + 4 * sizes["n"], written_bytes=nbytes, flops=0)
