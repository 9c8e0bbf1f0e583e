"""Control each launch's phase: a launch's cost depends on how many kernels were launched before it.

On an H200 the launch cost varies with a period of four kernel launches. After an L2 flush, a kernel
that follows another one between the same two events took a microsecond longer in two of the four
phases than in the other two, which is 14 % of a 4 MiB reduction (reports/h200/timing/turns.csv). A
loop of six kernels would go through several phases, a loop of eight would always stay in the same
one, and the two could not be compared. Therefore empty kernels are enqueued between timed launches,
so that each launch is at the next phase.
"""

from __future__ import annotations

TURNS = 4


def empty_kernels(number: int, kernels: int) -> int:
    """The number of empty kernels to enqueue so that a timed launch is at the next phase.

    `number`: the index of the launch in its batch. `kernels`: how many kernels are enqueued between
    the starts of two launches. In a batch of 12, each phase then occurs three times, or at most
    four times if the actual number of kernels differs from `kernels`.
    """
    step = 1 + (number % TURNS == 0)  # an extra step per cycle, in case `kernels` is wrong
    return (step - kernels) % TURNS
