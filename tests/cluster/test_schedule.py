"""Indivisible work items are distributed so that the last one ends as early as possible."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

import pytest

from harness.cluster.schedule import FEW, planned


def ends(loads: Sequence[float], works: Sequence[float], plan: Sequence[int]) -> float:
    """The time at which the last worker finishes its part of the plan."""
    sums = list(loads)
    for work, worker in zip(works, plan, strict=False):
        sums[worker] += work
    return max(sums)


def largest_first(loads: Sequence[float], works: Sequence[float]) -> float:
    sums = list(loads)
    for work in works:
        sums[sums.index(min(sums))] += work
    return max(sums)


def test_five_work_items_on_two_cards_end_sooner_than_the_largest_first() -> None:
    works = [78.4, 62.6, 60.7, 37.0, 28.0]  # seconds, of reduce_sum and copy on an H200
    assert largest_first([0, 0], works) == pytest.approx(143.4)
    assert ends([0, 0], works, planned([0, 0], works)) == pytest.approx(139.1)


def test_what_a_worker_is_still_at_counts() -> None:
    assert planned([15.8, 0.0], [60.7, 37.0, 28.0]) == [0, 1, 1]


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_of_a_few_work_items_ends_sooner(seed: int) -> None:
    draw = random.Random(seed)
    loads = [draw.choice([0.0, draw.random()]) for _ in range(draw.randint(1, 3))]
    works = sorted((draw.random() for _ in range(draw.randint(1, 6))), reverse=True)
    plans = itertools.product(range(len(loads)), repeat=len(works))
    best = min(ends(loads, works, plan) for plan in plans)
    assert ends(loads, works, planned(loads, works)) == pytest.approx(best)


def test_of_thousands_the_largest_are_planned_and_at_once() -> None:
    draw = random.Random(1)
    works = sorted((draw.random() ** 2 for _ in range(5000)), reverse=True)
    begun = time.process_time()
    plan = planned([0.0] * 32, works)
    assert time.process_time() - begun < 10
    assert len(plan) == 64
    assert ends([0.0] * 32, works, plan) <= largest_first([0.0] * 32, works[:64])
    assert len(planned([0.0], works)) == FEW


def test_nothing_to_do_needs_no_plan() -> None:
    assert planned([1.0, 0.0], []) == []
