"""Greedy suppression of boxes that overlap a better one: comparisons, then a chain of decisions.

Coordinates are whole numbers, so that areas, intersections and the comparison with half of a union
are exact: a correct kernel decides each pair as the reference does, and the outputs are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from harness.problem import Array, Buffer, Problem, Work

THRESHOLD = 0.5
"""The intersection over union above which the worse box is removed, as in bench.yaml."""


class Nms(Problem):
    title = "keep[i] = 1 if no kept box j < i has IoU(i, j) > 0.5; boxes sorted by score"
    timed_inputs = (
        "crowds of `crowd` boxes at each place on average: 256, as a detector gives them before "
        "suppression, or 4, of which most are kept. How many are kept decides the time of the "
        "scan, so it is a size. The chains of the other draw are not timed."
    )
    changed_together: Mapping[str, int] = {"boxes": 4}  # the corners of a box
    no_roof = "which pairs have to be compared depends on the boxes, and its decisions are a chain"

    def buffers(self, sizes: Mapping[str, int], dtype: str) -> Sequence[Buffer]:
        n = sizes["n"]
        return [
            Buffer("boxes", "input", dtype, 4 * n),  # x1, y1, x2, y2
            Buffer("keep", "output", "int32", n),
            Buffer("mask", "scratch", "uint64", n * -(-n // 64)),
            Buffer("removed", "zeroed", "uint64", -(-n // 64)),
            Buffer("barrier", "zeroed", "uint32", 2),
            Buffer("decisions", "scratch", "uint64", 2 * -(-n // 64)),
            Buffer("ticket", "scratch", "uint32", 1),
        ]

    def inputs(
        self, sizes: Mapping[str, int], dtype: str, rng: np.random.Generator, draw: int
    ) -> Mapping[str, Array]:
        n = sizes["n"]
        if draw % 2 == 0:
            # Crowds: many boxes around the same few places; some boxes are empty.
            places = max(1, n // sizes.get("crowd", 256))
            centres = rng.integers(-1000, 1000, (places, 2))
            corner = centres[rng.integers(0, len(centres), n)] + rng.integers(-6, 7, (n, 2))
            extent = rng.integers(20, 41, (n, 2))
            extent[rng.integers(0, n, n // 16)] = 0
        else:
            # Chains with four boxes at each place: a place overlaps the next one, which overlaps
            # the one after it but has already been removed.
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
        # Sorted by left edge, so that the boxes that a box can overlap are contiguous.
        order = np.argsort(x1)
        sorted_boxes, edges = boxes[:, order], x1[order]
        first, last = np.searchsorted(edges, x1 - np.max(x2 - x1)), np.searchsorted(edges, x2)
        keep = np.ones(sizes["n"])
        for i in range(sizes["n"]):
            if keep[i]:
                met = slice(first[i], last[i])
                removed = order[met][_overlap(boxes[:, i], sorted_boxes[:, met])]
                keep[removed[removed > i]] = 0
        return {"keep": keep}

    def tolerance(
        self, sizes: Mapping[str, int], dtype: str, inputs: Mapping[str, Array]
    ) -> Mapping[str, Array | float]:
        return {"keep": 0}

    def work(self, sizes: Mapping[str, int], dtype: str) -> Work:
        n = sizes["n"]
        # Per pair: two differences, a product, a sum and a difference for the union, a product.
        return Work(read_bytes=16 * n, written_bytes=4 * n, flops=6 * (n * (n - 1) // 2))


def _overlap(box: Array, others: Array) -> Array:
    """Find the boxes that overlap `box` by more than the threshold.

    Each is a column of x1, y1, x2, y2 and area. float32 arithmetic is exact here.
    """
    width = np.minimum(box[2], others[2]) - np.maximum(box[0], others[0])
    height = np.minimum(box[3], others[3]) - np.maximum(box[1], others[1])
    both = np.maximum(width, 0) * np.maximum(height, 0)
    return np.asarray(both > THRESHOLD * (box[4] + others[4] - both))
