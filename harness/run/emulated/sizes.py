"""Choose the size at which to emulate a timed case: its own if that is quick, else a smaller one.

All variants of a comparison are counted at one size, or their counters could not be compared. Sizes
within `limits.emulate_bytes` and `emulate_flops`, at which a run without a GPU counts, are counted
as they are. A larger one gets a stand-in: the nearest of the matrix's sizes within the limits. The
work of the stand-in predicts how long the full size would take, or its half, or its quarter; the
largest of these that is quick replaces the stand-in. Near the timed size, work that a launch does
only once weighs as little as it did there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from harness.matrix.written import Limits
from harness.problem import Work

SECONDS = 60.0
"""What a variant may take at its own size: all of its launch shapes that explain a time."""

RATE = 150e6
"""Thread instructions of machine code that a core executes in a second, with their PTX: as slow as
the slowest of the large launches in docs/speed.md."""

BEYOND = 16
"""Times the limits: what the smallest size of a matrix may have that has none within them."""

FOOTPRINT = 8
"""Bytes of the machine that a worker takes for one of the case's buffers: inputs and references,
both forms' copies, and what the emulator keeps of each word."""

Sizes = Mapping[str, int]


def is_within(work: Work, limits: Limits, times: int = 1) -> bool:
    """Whether a run without a GPU counts at a size with this work."""
    return work.bytes <= times * limits.emulate_bytes and work.flops <= times * limits.emulate_flops


def stand_in(sizes: Sizes, works: Iterable[tuple[Sizes, Work]], limits: Limits) -> Sizes | None:
    """The size that is counted in place of one that is too large; None where there is none.

    works: the sizes of the matrix. The nearest is the one whose parameters differ least, so that
    few columns do not stand for few rows, nor even data for skewed ones.
    """
    every = list(works)
    found = [each for each, work in every if is_within(work, limits)]
    if not found and every:
        smallest, work = min(every, key=lambda each: (each[1].flops, each[1].bytes))
        found = [smallest] if is_within(work, limits, BEYOND) else []
    return min(found, key=lambda each: _distance(sizes, each), default=None)


def smaller(sizes: Sizes, work: Callable[[Sizes], Work], limits: Limits) -> Iterator[Sizes]:
    """The size itself, then its half, its quarter and so on, down to what is within the limits.

    Its first parameter is halved: n, rows, planes or whatever there are most of.
    """
    first = next(iter(sizes), "")
    found = dict(sizes)
    while first and not is_within(work(found), limits):
        yield found
        if found[first] < 2:
            return
        found = {**found, first: found[first] // 2}


def _distance(a: Sizes, b: Sizes) -> float:
    """How many times they differ, parameter by parameter, as logarithms."""
    return sum(abs(math.log(max(1, a[key]) / max(1, b[key]))) for key in a)


def seconds(thread_instructions: float, times: float) -> float:
    """What counting takes at a size with so many times the work of one that was counted."""
    return thread_instructions * times / RATE
