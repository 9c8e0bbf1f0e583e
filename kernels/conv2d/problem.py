"""Convolution of multi-channel images, as in neural networks (strictly, a correlation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work, summation_bound


class Conv2d(Problem):
    title = "y[n][o][i][j] = Σ x[n][c][i + a − pad][j + b − pad] weights[o][c][a][b], a, b < k"
    timed_inputs = "normal images and weights. No instruction depends on them."
    other_layouts = "x_channels_last", "weights_channels_last"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        s = sizes
        rows, columns = _extents(s)
        x, weights = s["n"] * s["c"] * s["h"] * s["w"], s["out"] * s["c"] * s["k"] ** 2
        tiles = s["n"] * -(-rows // 2) * -(-columns // 2) if s["k"] == 3 else 1
        pitch_u, pitch_v = (-(-count // 4) * 4 for count in (s["out"], tiles))
        return [
            Buffer("x", "input", dtype, x),
            Buffer("weights", "input", dtype, weights),
            Buffer("x_channels_last", "input", dtype, x),
            Buffer("weights_channels_last", "input", dtype, weights),
            # The weights in the order that v6 reads.
            Buffer("reordered", "scratch", dtype, weights),
            # v7's transformed weights, its transformed x, and their products.
            Buffer("u", "scratch", dtype, 16 * s["c"] * pitch_u),
            Buffer("v", "scratch", dtype, 16 * s["c"] * pitch_v),
            Buffer("products", "scratch", dtype, 16 * s["out"] * pitch_v),
            Buffer("y", "output", dtype, s["n"] * s["out"] * rows * columns),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        x, weights = (b.count for b in self.buffers(sizes, dtype)[:2])
        if draw % 2 == 0:
            values = [rng.standard_normal(count, dtype=np.float32) for count in (x, weights)]
        else:
            # ±1 and ±2: every partial sum is exact, so one product lost or added twice cannot hide.
            few = np.array([-2, -1, 1, 2], np.float32)
            values = [few[rng.integers(0, 4, count, dtype=np.int8)] for count in (x, weights)]
        return dict(zip(("x", "weights"), values, strict=True))

    def layouts(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        shapes = {"x": (sizes["n"], sizes["c"], -1), "weights": (sizes["out"], sizes["c"], -1)}
        return {
            f"{name}_channels_last": inputs[name].reshape(shape).swapaxes(1, 2).reshape(-1)
            for name, shape in shapes.items()
        }

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        x, weights = _padded(sizes, inputs["x"]), _weights(sizes, inputs["weights"])
        n, out = sizes["n"], sizes["out"]
        rows, columns = _extents(sizes)
        y = np.zeros((n, out, rows * columns))
        for a in range(sizes["k"]):  # a matrix product per position in the window
            for b in range(sizes["k"]):
                part = np.ascontiguousarray(x[:, :, a : a + rows, b : b + columns])
                y += weights[:, :, a, b] @ part.reshape(n, sizes["c"], rows * columns)
        return {"y": y}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        if not np.any(inputs["x"][:1024] % 1):
            return {"y": 0.5}  # whole numbers: |partial sums| <= 4 c k² < 2^24, exact
        # Σ|x||w| over a window is at most the product of the norms (Cauchy–Schwarz). Each
        # product adds one rounding to those of the additions.
        squares = np.sum(_padded(sizes, inputs["x"]) ** 2, axis=1)
        rows, columns = _extents(sizes)
        windows = np.zeros((sizes["n"], 1, rows, columns))
        for a in range(sizes["k"]):
            for b in range(sizes["k"]):
                windows[:, 0] += squares[:, a : a + rows, b : b + columns]
        weights = np.sqrt(np.sum(_weights(sizes, inputs["weights"]) ** 2, axis=(1, 2, 3)))
        magnitude = np.sqrt(windows) * weights[:, None, None]
        terms = sizes["c"] * sizes["k"] ** 2
        return {"y": magnitude * summation_bound(terms + 1, 1.0, dtype)}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        size = np.dtype(dtype).itemsize
        x, weights, *_, y = (buffer.count for buffer in self.buffers(sizes, dtype))
        return Work(size * (x + weights), size * y, 2 * y * sizes["c"] * sizes["k"] ** 2)


def _pad(sizes: Mapping[str, int]) -> int:
    """The width of the border of zeros around x that gives y its number of rows."""
    return (sizes["rows"] + sizes["k"] - 1 - sizes["h"]) // 2


def _extents(sizes: Mapping[str, int]) -> tuple[int, int]:
    """Rows and columns of a plane of y."""
    return sizes["rows"], sizes["w"] + 2 * _pad(sizes) - sizes["k"] + 1


def _padded(sizes: Mapping[str, int], x: Array) -> Array:
    pad = _pad(sizes)
    images = x.reshape(sizes["n"], sizes["c"], sizes["h"], sizes["w"]).astype(np.float64)
    return np.pad(images, ((0, 0), (0, 0), (pad, pad), (pad, pad)))


def _weights(sizes: Mapping[str, int], weights: Array) -> Array:
    shape = sizes["out"], sizes["c"], sizes["k"], sizes["k"]
    return weights.reshape(shape).astype(np.float64)
