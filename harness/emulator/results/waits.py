"""The operations that threads waited for at mbarriers."""

from __future__ import annotations

from dataclasses import dataclass

Extremes = tuple[int, int]


@dataclass(frozen=True)
class Completion:
    """An instruction that completed phases: per phase, the minimum and maximum of its arrivals, of
    the bytes that it announced, and of those that it delivered.
    """

    place: str
    opcode: str
    arrivals: Extremes
    announced: Extremes
    bytes: Extremes


@dataclass(frozen=True)
class Wait:
    """The waits of one line at one mbarrier.

    `place`: the line, and the lines that call it if it is inlined. `mbarrier`: its variable and
    offset. `phases`: the first and the last that were waited for, counted from 0 in each block; -1
    is the phase before the first, for which no thread waits. `by`: the operations that completed
    these phases, in program order.
    """

    place: str
    mbarrier: str
    phases: Extremes
    by: tuple[Completion, ...]
