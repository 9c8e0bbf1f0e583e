"""Find a case's fault, trying its test sizes first, and the smallest case that has that fault.

First the sizes are reduced, then the launch shape.

Two faults are the same if they have the same line and kind. A case that cannot be planned, compiled
or launched does not show the fault, so a block never becomes smaller than its kernel requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.backends.base import Execution
from harness.cases import Case, Device
from harness.errors import HarnessError
from harness.matrix import model, plan
from harness.run.emulated.emulate import emulate
from harness.worker.inputs import DRAWS

Numbers = dict[str, int]
_MOST_ROUNDS = 4


@dataclass(frozen=True)
class Found:
    """A case that has a fault with one of its sets of inputs, and the fault."""

    case: Case
    draw: int | None
    execution: Execution


def first_fault(
    bench: model.Bench, device: Device, case: Case, tests: Sequence[Case], jobs: int
) -> Found | None:
    """Find the first fault at one of the case's test sizes, or else in the case itself."""
    same_kernel = case.problem, case.variant, case.dtype, case.launch
    for test in tests:
        if (test.problem, test.variant, test.dtype, test.launch) != same_kernel:
            continue
        for draw in DRAWS:
            done = emulate(bench, test, device.arch, jobs, draw)
            if done.faults:
                return Found(test, draw, done)
    done = emulate(bench, case, device.arch, jobs)
    return Found(case, None, done) if done.faults else None


def smallest(bench: model.Bench, device: Device, faulty: Found, jobs: int) -> Found:
    """The smallest case with the same fault, and the fault."""
    wanted, found, case = same(faulty.execution), faulty, faulty.case

    def shows(numbers: Numbers) -> bool:
        nonlocal found
        try:
            tried = _at(bench, device, case, numbers)
            if tried.skip or tried.refusal:
                return False
            done = emulate(bench, tried, device.arch, jobs, faulty.draw)
        except HarnessError:
            return False
        if same(done) != wanted:
            return False
        found = Found(tried, faulty.draw, done)
        return True

    shrunk({**case.sizes, **case.launch}, shows)
    return found


def same(execution: Execution) -> tuple[str, ...]:
    """Return the file, line and kind of the first fault, by which faults are compared; empty if
    there is no fault."""
    return tuple(execution.faults[0].split(":")[:3]) if execution.faults else ()


def shrunk(start: Mapping[str, int], shows: Callable[[Numbers], bool]) -> Numbers:
    """Make each number in turn as small as possible while `shows` holds, until none gets smaller.

    `shows` holds at the start; the last numbers for which it held are returned.
    """
    numbers = dict(start)
    for _ in range(_MOST_ROUNDS):
        before = dict(numbers)
        for name, value in before.items():

            def shows_with(other: int, name: str = name) -> bool:
                return shows({**numbers, name: other})

            numbers[name] = _least(value, shows_with)
        if numbers == before:
            break
    return numbers


def _least(value: int, shows: Callable[[int], bool]) -> int:
    """The smallest number found for which `shows` holds: searched from below, then between the last
    two numbers tried."""
    below, above = 0, value
    for candidate in _from_below(value):
        if shows(candidate):
            above = candidate
            break
        below = candidate
    while above - below > 1:
        middle = (below + above) // 2
        if shows(middle):
            above = middle
        else:
            below = middle
    return above


def _from_below(value: int) -> Iterator[int]:
    """The powers of two and their neighbours, at which faults begin to show."""
    tried = 0
    for power in range(value.bit_length()):
        for candidate in (2**power - 1, 2**power, 2**power + 1):
            if tried < candidate < value:
                tried = candidate
                yield candidate


def _at(bench: model.Bench, device: Device, case: Case, numbers: Numbers) -> Case:
    """The case's variant at other sizes and a different launch shape."""
    problem = bench.problems[case.problem]
    shape = {name: numbers[name] for name in case.launch}
    sizes = {name: numbers[name] for name in case.sizes}
    variant = replace(problem.variants[case.variant], dtypes=(case.dtype,), launch=(shape,))
    alone = replace(problem, variants={case.variant: variant})
    narrowed = replace(bench, problems={**bench.problems, case.problem: alone})
    (found,) = plan.cases_at(narrowed, device, case.problem, [sizes])
    return found
