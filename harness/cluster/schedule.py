"""Which worker takes which piece, so that the last of them ends as soon as can be.

Pieces cannot be cut, as what is compared shares a GPU. To give the largest to whoever is free ends
up to a third too late (Graham, "Bounds on Multiprocessing Timing Anomalies", 1969): little with
many pieces, much with five on two GPUs. So the last few are planned, anew whenever one is given.
"""

from __future__ import annotations

from collections.abc import Sequence

FEW = 24
"""Pieces that are planned together, or two for each worker if that is more."""

MOST_STEPS = 5_000
"""Of the search for a plan, which takes the best that it has found by then."""


def planned(loads: Sequence[float], works: Sequence[float]) -> list[int]:
    """The worker of each work, as its index in loads, so that the largest sum is least.

    loads: what each worker is still busy with, 0 or more. works: in the same unit, the largest
    first; of many only the first are planned.
    """
    search = _Search(loads, works[: max(FEW, 2 * len(loads))])
    search.place(0)
    return search.best


class _Search:
    """Depth first, to who has least before the others: the first plan gives the largest first."""

    def __init__(self, loads: Sequence[float], works: Sequence[float]) -> None:
        self.loads, self.works = list(loads), works
        self.least = max(*loads, (sum(loads) + sum(works)) / len(loads), 0.0)
        """No plan ends sooner."""
        self.chosen = [0] * len(works)
        self.best: list[int] = []
        self.ends = float("inf")
        self.steps = 0

    def place(self, work: int) -> None:
        """This work and those after it, wherever they may still end sooner than the best plan."""
        self.steps += 1
        if work == len(self.works):
            self.best, self.ends = list(self.chosen), max(self.loads)
            return
        tried = set()
        for worker in sorted(range(len(self.loads)), key=lambda each: self.loads[each]):
            before = self.loads[worker]
            enough = self.best and (self.ends <= self.least or self.steps > MOST_STEPS)
            if enough or before + self.works[work] >= self.ends:
                return  # who has more to do would end even later
            if before in tried:
                continue
            tried.add(before)
            self.chosen[work] = worker
            self.loads[worker] += self.works[work]
            self.place(work + 1)
            self.loads[worker] = before
