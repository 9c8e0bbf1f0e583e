"""Place the names of points so that no two overlap and none hides a point."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A rectangle in typographic points; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def inside(self, other: Box) -> bool:
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )

    def crossed_by(self, a: tuple[float, float], b: tuple[float, float]) -> bool:
        """Return whether the segment from a to b enters the rectangle (Liang and Barsky's
        clipping)."""
        (x0, y0), (x1, y1) = a, b
        low, high = 0.0, 1.0
        for delta, near, far in (
            (x1 - x0, self.left - x0, self.right - x0),
            (y1 - y0, self.bottom - y0, self.top - y0),
        ):
            if delta == 0:
                if near > 0 or far < 0:
                    return False
                continue
            t0, t1 = sorted((near / delta, far / delta))
            low, high = max(low, t0), min(high, t1)
        return low < high


@dataclass(frozen=True)
class Placed:
    """A label's lower left corner, and whether it is far enough from its point to need a leader
    line."""

    x: float
    y: float
    leader: bool


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Iterable[Box],
    frame: Box,
    leaders_from: float = 11.0,
) -> list[Placed | None]:
    """Find a position for each label: to the right of its point if possible, otherwise the nearest
    free position.

    Positions and sizes are in typographic points (1/72 inch). Labels are placed from the top down,
    each at the nearest candidate that is free; its leader line may not cross another label. A label
    with no free place gets None, because two labels on top of each other would hide both.
    """
    taken = list(obstacles)
    leaders: list[tuple[tuple[float, float], tuple[float, float]]] = []
    result: dict[int, Placed] = {}
    for i in sorted(range(len(points)), key=lambda i: (-points[i][1], points[i][0])):
        (x, y), (width, height) = points[i], sizes[i]
        least, best = WORST, None
        for near, dx, dy in _offsets(width, height):
            if near >= least:  # all further candidates are at least as far away
                break
            box = Box(x + dx, y + dy - height / 2, x + dx + width, y + dy + height / 2)
            # The cheap tests come first: most candidates fail one of them.
            if not box.inside(frame) or any(map(box.overlaps, taken)):
                continue
            anchor = (box.left if dx > 0 else box.right, y + dy)
            far = math.hypot(anchor[0] - x, dy) > leaders_from
            cost = near
            for line in leaders:
                cost += CROSSING * box.crossed_by(*line)
            for other in taken if far else ():
                if cost >= least:
                    break
                if not (other.left <= x <= other.right and other.bottom <= y <= other.top):
                    cost += CROSSING * other.crossed_by((x, y), anchor)
            if cost < least:
                least, best = cost, (Placed(box.left, box.bottom, far), box, anchor)
        if best is None:
            continue
        result[i], box, anchor = best
        taken.append(box)
        if result[i].leader:
            leaders.append(((x, y), anchor))
    return [result.get(i) for i in range(len(points))]


CROSSING = 600.0
"""The cost of crossing a label or a leader line, in points of distance."""
WORST = 1000.0
"""A candidate with this cost is rejected: its leader line is crossed twice, or is too long to
follow."""


def _offsets(width: float, height: float) -> list[tuple[float, float, float]]:
    """Candidate offsets with their distances, the nearest first: columns to the right and left,
    each at many heights. Positions to the left count as farther away."""
    right = [7.0, 20.0, 36.0, 60.0, 90.0]
    left = [-7.0 - width, -20.0 - width, -36.0 - width, -60.0 - width]
    heights = [0.5 * height * k * sign for k in range(24) for sign in (1, -1)]
    found = [
        (math.hypot(max(dx, -dx - width), dy) * (1 if dx > 0 else 1.6), dx, dy)
        for dx in (*right, *left)
        for dy in heights
    ]
    return sorted(found, key=lambda each: each[0])
