"""Greedy suppression of boxes that overlap a better one: comparisons, and a chain of decisions.

Coordinates are whole numbers, so that areas, intersections and the comparison with half of a union
are exact: a right kernel decides each pair as the reference does, and the outputs are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

THRESHOLD = 0.5
"""Intersection over union from which on the worse box goes, exclusive. bench.yaml has it too."""


class Nms(Problem):
    title = "keep[i] = 1 if no kept box j < i has IoU(i, j) > 0.5; boxes sorted by score"
    timed_inputs = (
        "crowds of some 256 boxes at each place, as a detector gives them before suppression. How "
        "many boxes are kept decides the time of the scan; that is no size yet: the chains of the "
        "other draw are not timed."
    )
    changed_together: Mapping[str, int] = {"boxes": 4}  # the corners of a box
    no_roof = "which pairs have to be compared depends on the boxes, and its decisions are a chain"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("boxes", "input", dtype, 4 * n),  # x1, y1, x2, y2
            Buffer("keep", "output", "int32", n),
            Buffer("mask", "scratch", "uint64", n * -(-n // 64)),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            # Crowds: many boxes about the same few places, some of them empty.
            centres = rng.integers(-1000, 1000, (max(1, n // 256), 2))
            corner = centres[rng.integers(0, len(centres), n)] + rng.integers(-6, 7, (n, 2))
            extent = rng.integers(20, 41, (n, 2))
            extent[rng.integers(0, n, n // 16)] = 0
        else:
            # Chains, of four boxes at each place: a place overlaps the next one, which overlaps the
            # next but is out already.
            place = np.arange(n) // 4
            corner = np.stack([10 * (place % 100), 100 * (place // 100)], axis=1)
            corner[:, 0] += rng.integers(0, 4, n)
            extent = np.full((n, 2), 40)
        boxes = np.concatenate([corner, corner + extent], axis=1)
        return {"boxes": boxes.astype(np.float32).reshape(-1)}

    def reference(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        x1, y1, x2, y2 = np.ascontiguousarray(inputs["boxes"].reshape(-1, 4).T)
        boxes = np.stack([x1, y1, x2, y2, (x2 - x1) * (y2 - y1)])
        keep = np.zeros(sizes["n"])
        left = np.arange(sizes["n"])  # neither kept nor suppressed yet
        while len(left):
            keep[left[0]] = 1
            stay = ~_overlap(boxes[:, 0], boxes[:, 1:])
            left, boxes = left[1:][stay], boxes[:, 1:][:, stay]
        return {"keep": keep}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"keep": 0}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        # Of a pair: two differences, a product, a sum and a difference for the union, a product.
        return Work(read_bytes=16 * n, written_bytes=4 * n, flops=6 * (n * (n - 1) // 2))


def _overlap(box: Array, others: Array) -> Array:
    """Of columns x1, y1, x2, y2, area; in float32, exact."""
    width = np.minimum(box[2], others[2]) - np.maximum(box[0], others[0])
    height = np.minimum(box[3], others[3]) - np.maximum(box[1], others[1])
    both = np.maximum(width, 0) * np.maximum(height, 0)
    return np.asarray(both > THRESHOLD * (box[4] + others[4] - both))
