"""Choose the size at which to emulate a timed case: its own if it is quick, or else a smaller one.

All variants of a comparison are counted at the same size, so that their counters can be compared.
Sizes within `limits.emulate_bytes` and `emulate_flops`, which a run without a GPU would count, are
counted directly. A larger size gets a stand-in: the nearest of the matrix's sizes within the
limits. From the stand-in's instruction count, the harness predicts how long it would take to
emulate the larger size, half of it, a quarter of it, and so on. The largest of these that is quick
enough replaces the stand-in. The closer the counted size is to the timed one, the better it
preserves the relative weight of a launch's one-time work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from harness.matrix.written import Limits
from harness.problem import Work

SECONDS = 60.0
"""The maximum time for emulating a variant at a size beyond the limits, for its fastest and its
slowest launch shape together."""

RATE = 150e6
"""The thread instructions of machine code that a core emulates per second if it also executes the
PTX: the rate of the slowest of the large launches in docs/emulator/speed.md."""

BEYOND = 16
"""The factor by which a matrix's smallest size may exceed the limits and still be counted, if no
size is within them."""

FOOTPRINT = 8
"""Bytes of host memory that a worker needs per byte of the case's buffers, for inputs and
references, copies for PTX and for machine code, and the emulator's records for each word."""

Sizes = Mapping[str, int]


def is_within(work: Work, limits: Limits, times: int = 1) -> bool:
    """Return whether the work is within the limits, or within the given multiple of them."""
    return work.bytes <= times * limits.emulate_bytes and work.flops <= times * limits.emulate_flops


def stand_in(sizes: Sizes, works: Iterable[tuple[Sizes, Work]], limits: Limits) -> Sizes | None:
    """Return the size to count in place of one that is too large, or None if there is none.

    `works`: the sizes of the matrix. The nearest is the one whose parameters differ by the smallest
    factors overall. Thus a size with few columns does not represent one with few rows, and uniform
    data does not represent skewed data.
    """
    every = list(works)
    found = [each for each, work in every if is_within(work, limits)]
    if not found and every:
        smallest, work = min(every, key=lambda each: (each[1].flops, each[1].bytes))
        found = [smallest] if is_within(work, limits, BEYOND) else []
    return min(found, key=lambda each: _distance(sizes, each), default=None)


def smaller(sizes: Sizes, work: Callable[[Sizes], Work], limits: Limits) -> Iterator[Sizes]:
    """Yield the size itself, then half of it, a quarter and so on, while they exceed the limits.

    Only the first parameter, such as n, rows or planes, is halved.
    """
    first = next(iter(sizes), "")
    found = dict(sizes)
    while first and not is_within(work(found), limits):
        yield found
        if found[first] < 2:
            return
        found = {**found, first: found[first] // 2}


def _distance(a: Sizes, b: Sizes) -> float:
    """The sum of the logarithms of the factors by which the parameters differ."""
    return sum(abs(math.log(max(1, a[key]) / max(1, b[key]))) for key in a)


def seconds(thread_instructions: float, times: float) -> float:
    """Estimate how long counting takes at a size whose work is this many times that of a counted
    size."""
    return thread_instructions * times / RATE
