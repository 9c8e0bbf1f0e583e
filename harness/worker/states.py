"""The two states of timed launches' inputs, by chance: no kept answer is right for both.

In one the inputs are as drawn. In the other one a few elements at secret places hold the values of
other elements of the same array, which are valid wherever the array's own are. Which of the two a
launch finds is a secret bit (backends/cuda/states.py), and it is held to what was verified for that
state. Places and bits come from the operating system's randomness, not from the run's seed, from
which everybody can draw.

The change must be seen in the results: somewhere the two references differ by far more than what is
let pass. Where a few elements are not seen, as in a long sum, more are changed, and then to larger
values.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from harness.backends.base import Array, Change
from harness.cases import Case
from harness.dtypes import is_float, largest
from harness.problem import Buffer, Problem
from harness.worker.inputs import Inputs

SEEN = 8
"""So many times what is let pass, a difference is beyond doubt."""

FEW, MANY = 64, 65_536
"""Numbers changed in an input. Few, as a cold launch may find their sectors in the cache."""

SHARE = 16
"""At most one number in so many, so that the inputs stay what they were drawn as."""

OF = 16
"""A float becomes the largest of so many of the array, so that changes do not cancel in a sum."""

LARGER = 2.0**20
"""What the largest value is multiplied by where no value of the array's own is seen."""


class _Level(NamedTuple):
    """How many numbers are changed, and whether to larger values than the array has."""

    numbers: int
    is_beyond: bool = False


_LEVELS = (_Level(FEW), _Level(MANY), _Level(FEW, is_beyond=True))


def other_state(
    problem: Problem, case: Case, own: Inputs
) -> tuple[dict[str, Change], Inputs] | None:
    """What the other state differs by, and that state; None where no change is seen."""
    rng = np.random.default_rng(secrets.randbits(128))
    inputs = [b for b in problem.buffers(case.sizes, case.dtype) if b.role == "input"]
    for level in _LEVELS:
        changes = dict(_changes(problem, inputs, own.values, level, rng))
        if not changes:
            continue
        other = own.changed(problem, case, changes)
        if is_seen(own, other):
            return changes, other
    return None


def is_seen(own: Inputs, other: Inputs) -> bool:
    """Whether an output of the two differs by so much that no right one is right for both."""
    for name, reference in own.reference.items():
        bounds = [np.asarray(each.tolerance[name], np.float64) for each in (own, other)]
        apart = np.abs(np.asarray(other.reference[name], np.float64)
                       - np.asarray(reference, np.float64)).reshape(-1)  # fmt: skip
        allowed = SEEN * np.maximum(bounds[0].reshape(-1), bounds[1].reshape(-1))
        if np.any((apart > allowed) & (apart > 0)):
            return True
    return False


def _changes(
    problem: Problem, inputs: list[Buffer], values: Mapping[str, Array], level: _Level,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Change]]:  # fmt: skip
    for buffer in inputs:
        if together := problem.changed_together.get(buffer.name, 1):
            array = np.asarray(values[buffer.name]).reshape(-1)
            change = _change(array, buffer.dtype, together, level, rng)
            if change is not None:
                yield buffer.name, change


def _change(
    array: Array, dtype: str, together: int, level: _Level, rng: np.random.Generator
) -> Change | None:
    """Other values for some of an array's units of `together` numbers, where they do differ."""
    units = array.size // together
    count = min(level.numbers // together, units // SHARE) or min(units, 1)
    if count == 0 or (level.is_beyond and (together > 1 or not is_float(dtype))):
        return None
    at = np.unique(rng.integers(0, units, count))
    where = (at[:, None] * together + np.arange(together)).reshape(-1)
    if level.is_beyond:
        top = float(np.max(array)) or 1.0
        most = min(abs(top) * LARGER, largest(dtype) ** 0.5)
        others = np.full(at.size, max(most, top)).astype(array.dtype)
    elif together == 1 and is_float(dtype):
        others = array[rng.integers(0, units, (at.size, OF))].max(axis=1)
    else:
        origin = rng.integers(0, units, at.size)
        others = array[(origin[:, None] * together + np.arange(together)).reshape(-1)]
    differ = others != array[where]
    return Change(where[differ], others[differ]) if np.any(differ) else None
