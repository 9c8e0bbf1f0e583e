"""Launches take turns: what one costs depends on how many kernels were launched before it.

On an H200 something comes around with every fourth kernel launched. After the L2 cache was emptied,
two turns of the four cost a kernel that follows another between the same two events a microsecond
more than the others: 14 % of a reduction of 4 MiB (reports/h200/timing/turns.csv). A loop of six
kernels would see several turns, one of eight always the same, and the two could not be compared. So
empty kernels are put between timed launches, for each to take another turn.
"""

from __future__ import annotations

TURNS = 4


def empty_kernels(number: int, kernels: int) -> int:
    """How many empty kernels go before a timed launch for it to take the turn after the last one's.

    number: of the launch in its batch. kernels: how many are enqueued between the starts of two
    launches. Of a batch of 12 each turn then has three, and of one whose number of kernels is not
    what was said, no turn has more than four.
    """
    step = 1 + (number % TURNS == 0)  # one further each time around, for what is not known
    return (step - kernels) % TURNS
