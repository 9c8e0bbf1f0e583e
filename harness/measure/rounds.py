"""Randomised rounds: every case once a round, in random order, the baselines twice.

Whatever drifts (clocks, temperature, a neighbour on the machine) then drifts over all cases alike,
and the per-round ratio of two cases is free of it. The baseline's second batch measures what is
left: the noise floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.backends.base import TimedWorkspace
from harness.build.compile import Built
from harness.cases import Case
from harness.records import Cache, Conditions, Round

BATCH_NS = 50e6
"""A batch is cut to about this long: a kernel of 20 ms needs no ten launches to be resolved."""

CACHES: tuple[Cache, ...] = ("cold", "warm")


@dataclass(frozen=True)
class Entry:
    """A place in a round."""

    case: Case
    built: Built | None
    repeat: bool = False


def measure(
    workspace: TimedWorkspace,
    entries: Sequence[Entry],
    rounds: int,
    batch: int,
    rng: np.random.Generator,
    first_round: int = 0,
    starting: Callable[[Case], None] = lambda case: None,
    conditions: Callable[[int], Conditions | None] = lambda number: None,
) -> Iterator[Round | Conditions]:
    """Records of all rounds, in the order in which they were measured.

    One round more is run first and not recorded: it brings the clocks up and tells how long a
    launch is, from which the batches are cut. `starting` is called before each batch.
    """
    launches = {}
    for entry in entries:
        starting(entry.case)
        longest = max(workspace.time(entry.case, entry.built, "cold", 2))[0]
        launches[entry.case.id] = int(max(1, min(batch, BATCH_NS / max(longest, 1.0))))
    for number in range(first_round, first_round + rounds):
        for index in rng.permutation(len(entries)):
            entry = entries[index]
            starting(entry.case)
            for cache in CACHES:
                yield _batch(workspace, entry, cache, number, launches[entry.case.id])
        state = conditions(number)
        if state is not None:
            yield state


def _batch(
    workspace: TimedWorkspace, entry: Entry, cache: Cache, number: int, launches: int
) -> Round:
    totals = workspace.time(entry.case, entry.built, cache, launches)
    steps: tuple[tuple[float, ...], ...] = ()
    if len(entry.case.steps) > 1 and not entry.repeat:
        apart = workspace.time(entry.case, entry.built, cache, max(1, launches // 2), apart=True)
        steps = tuple(tuple(round(ns, 1) for ns in step) for step in zip(*apart, strict=True))
    samples = tuple(round(total, 1) for [total] in totals)
    return Round(entry.case.id, cache, number, entry.repeat, samples, steps)
