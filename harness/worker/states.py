"""The two states of timed launches' inputs, chosen at random: no stored result is correct for both.

In one state the inputs are as generated. In the other, a few elements at unpredictable positions
hold the values of other elements of the same array. Values of the same array are valid at any
position. A random bit that the kernel cannot predict decides which of the two a launch finds
(backends/cuda/verification/states.py), and the launch is compared with the verified results for
that state. Positions and bits come from the operating system's random numbers, not from the run's
seed, from which anyone could derive them.

The change must show in the results: at some element, the two references must differ by far more
than the tolerance. Floats are changed; integers, which may be indices, only if changed floats have
no visible effect. If changing a few elements has no visible effect, as in a long sum, more elements
are changed; if that has no effect either, a few elements get larger values, and finally many do.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from harness.backends.base import Array, Change
from harness.cases import Case
from harness.dtypes import is_float, largest, numpy_dtype
from harness.problem import Buffer, Problem
from harness.worker.inputs import Inputs, with_changes

SEEN = 8
"""A change is visible if it makes the two references differ by more than this many times the
tolerance."""

FEW, MORE, MANY = 64, 1024, (16_384, 65_536)
"""The number of values of an input that are changed: few at first, because a cold launch may find
their sectors in the cache."""

SHARE_OF_FEW, SHARE = 16, 512
"""At most one number in SHARE_OF_FEW is changed for the first FEW, and one in SHARE beyond that, so
that inputs stay typical and cold in cache."""

OF = 16
"""A changed float becomes the largest of this many others, so sums of changes do not cancel."""

SLACK = 8.0
"""The factor by which an effect may exceed its estimate."""

PIECE = 1 << 18
"""The number of results that are compared at once."""

WORDS = (1, 2, 4, 8)
"""The sizes, in bytes, of numbers that can be changed."""

ROOM = 16.0
"""The results for changed inputs must not exceed the largest number of their type divided by
this."""


class _Level(NamedTuple):
    """The number of values to change, and the factor by which they exceed the array's largest
    value."""

    numbers: int
    larger: float = 0.0

    @property
    def gain(self) -> float:
        """Estimate how much larger the effect is than that of changing a few numbers."""
        return self.numbers / FEW * max(self.larger, 1.0)


_LEVELS = (
    _Level(FEW), _Level(MORE), *(_Level(FEW, 2.0**n) for n in (4, 10, 20)),
    *(_Level(numbers) for numbers in MANY),
)  # fmt: skip


def other_state(
    problem: Problem, case: Case, own: Inputs
) -> tuple[dict[str, Change], Inputs] | None:
    """The changes of the other state, and that state; None if no change has a visible effect."""
    inputs = [
        b for b in problem.buffers(case.sizes, case.dtype)
        if b.role == "input" and b.name not in problem.other_layouts
    ]  # fmt: skip
    floats = [b for b in inputs if is_float(b.dtype)]
    found = _other_state(problem, case, own, floats) if floats else None
    if found is None and len(floats) < len(inputs):
        found = _other_state(problem, case, own, inputs)
    return found


def _other_state(
    problem: Problem, case: Case, own: Inputs, inputs: Sequence[Buffer]
) -> tuple[dict[str, Change], Inputs] | None:
    """Try changing these inputs."""
    rng = np.random.default_rng(secrets.randbits(128))
    share = 0.0  # the effect of changing a few numbers, relative to the needed one
    for level in _LEVELS:
        if 0 < share * level.gain * SLACK < 1:
            continue  # skip the slow reference, which would show no effect
        changes = dict(_changes(problem, inputs, own.values, level, rng))
        if not changes:
            continue
        changes |= _in_other_layouts(problem, case, own, changes)
        other = own.changed(problem, case, changes)
        found = seen_share(own, other)
        if found > 1 and (not level.larger or _fits(problem, case, other)):
            return changes, other
        share = max(share, found / level.gain)
    return None


def seen_share(own: Inputs, other: Inputs) -> float:
    """The difference of an output between the two states, relative to the sum of their
    tolerances."""
    return max(
        _share(
            np.asarray(reference).reshape(-1), np.asarray(other.reference[name]).reshape(-1),
            *(np.asarray(each.tolerance[name], np.float64).reshape(-1) for each in (own, other)),
        )
        for name, reference in own.reference.items()
    )  # fmt: skip


def _share(first: Array, second: Array, *bounds: Array) -> float:
    """Compute the difference in cache-sized pieces, until it is large enough."""
    share = 0.0
    for start in range(0, first.size, PIECE):
        piece = slice(start, start + PIECE)
        apart = np.abs(first[piece].astype(np.float64) - second[piece].astype(np.float64))
        allowed = SEEN * np.maximum(
            *(bound if bound.size == 1 else bound[piece] for bound in bounds)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            share = max(share, float(np.nanmax(np.where(apart > 0, apart / allowed, 0.0))))
        if share > 1:
            break
    return share


def _fits(problem: Problem, case: Case, other: Inputs) -> bool:
    """Return whether results are far from the limits of their types, unlike, for example, a sum of
    large halves."""
    return all(
        np.abs(np.asarray(other.reference[b.name], np.float64)).max() <= largest(b.dtype) / ROOM
        for b in problem.buffers(case.sizes, case.dtype)
        if b.role == "output" and is_float(b.dtype)
    )


def _changes(
    problem: Problem, inputs: Sequence[Buffer], values: Mapping[str, Array], level: _Level,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Change]]:  # fmt: skip
    """Change the same positions in inputs of equal length: both operands of a product change."""
    places = rng.random(level.numbers)
    for buffer in inputs:
        together = problem.changed_together.get(buffer.name, 1)
        is_word = numpy_dtype(buffer.dtype).itemsize in WORDS
        if together and is_word:
            array = np.asarray(values[buffer.name]).reshape(-1)
            change = _change(array, buffer.dtype, together, level, places, rng)
            if change is not None:
                yield buffer.name, change


def _in_other_layouts(
    problem: Problem, case: Case, own: Inputs, changes: Mapping[str, Change]
) -> Iterator[tuple[str, Change]]:
    """Apply the same changes to an input that is also stored in another order."""
    if not problem.other_layouts:
        return
    values = with_changes(own.values, changes)
    for name, array in problem.layouts(case.sizes, case.dtype, values).items():
        [where] = np.nonzero(array != own.values[name])
        yield name, Change(where, array[where])


def _change(
    array: Array, dtype: str, together: int, level: _Level, places: Array, rng: np.random.Generator
) -> Change | None:
    """New values for a random subset of an array's units of `together` consecutive numbers;
    None if no value would change."""
    units = array.size // together
    few = min(FEW // together, units // SHARE_OF_FEW) or min(units, 1)
    count = max(few, min(level.numbers // together, units // SHARE))
    takes_any = together == 1 and is_float(dtype)
    if count == 0 or (level.larger and not takes_any):
        return None
    at = np.unique((places[:count] * units).astype(np.int64))
    if level.larger:
        top = float(np.max(array))
        most = min(max(abs(top), 1.0) * level.larger, largest(dtype) ** 0.5)
        others = np.full(at.size, max(most, top)).astype(array.dtype)
    elif takes_any:
        others = array[rng.integers(0, units, (at.size, OF))].max(axis=1)
    else:
        others = array[_numbers(rng.integers(0, units, at.size), together)]
    where = _numbers(at, together)
    differ = others != array[where]
    return Change(where[differ], others[differ]) if np.any(differ) else None


def _numbers(units: Array, together: int) -> Array:
    """The indices of the numbers in some units."""
    return np.asarray(units[:, None] * together + np.arange(together)).reshape(-1)
