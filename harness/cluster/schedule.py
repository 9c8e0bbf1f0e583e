"""Choose which worker takes which work item, so that the last one ends as early as possible.

Items cannot be split, since everything that is compared shares a GPU. Giving the largest item to
the next free worker may take up to a third longer than the best plan (Graham, "Bounds on
Multiprocessing Timing Anomalies", 1969). The loss is small with many items, but large with five on
two GPUs. Therefore the last few items are planned together, and a new plan is made each time one
is assigned.
"""

from __future__ import annotations

from collections.abc import Sequence

FEW = 24
"""The number of work items that are planned together, or two per worker if that is more."""

MOST_STEPS = 5_000
"""The most steps in the search for a plan; after that, the best plan so far is used."""


def planned(loads: Sequence[float], works: Sequence[float]) -> list[int]:
    """Assign each item to a worker, as an index in loads, so that the largest total load is
    minimal.

    `loads`: the remaining work of each worker, 0 or more. `works`: the items' work in the same
    unit, largest first; if there are many, only the first are planned.
    """
    search = _Search(loads, works[: max(FEW, 2 * len(loads))])
    search.place(0)
    return search.best


class _Search:
    """A depth-first search that tries the least loaded worker first, so its first plan is the
    greedy one."""

    def __init__(self, loads: Sequence[float], works: Sequence[float]) -> None:
        self.loads, self.works = list(loads), works
        self.least = max(*loads, (sum(loads) + sum(works)) / len(loads), 0.0)
        """A lower bound: no plan finishes sooner."""
        self.chosen = [0] * len(works)
        self.best: list[int] = []
        self.ends = float("inf")
        self.steps = 0

    def place(self, work: int) -> None:
        """Try every worker for this item and those after it, as long as the result can still beat
        the best plan.
        """
        self.steps += 1
        if work == len(self.works):
            self.best, self.ends = list(self.chosen), max(self.loads)
            return
        tried = set()
        for worker in sorted(range(len(self.loads)), key=lambda each: self.loads[each]):
            before = self.loads[worker]
            enough = self.best and (self.ends <= self.least or self.steps > MOST_STEPS)
            if enough or before + self.works[work] >= self.ends:
                return  # workers with more to do would end even later
            if before in tried:
                continue
            tried.add(before)
            self.chosen[work] = worker
            self.loads[worker] += self.works[work]
            self.place(work + 1)
            self.loads[worker] = before
