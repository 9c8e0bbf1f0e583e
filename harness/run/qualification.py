"""What a variant's verified launches say about each of its launch shapes.

A launch shape is good when every test size, on both draws of inputs, and every counted size was
verified. Whatever is missing has a reason: a wrong result, or how the process ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.cases import Case, Shape
from harness.records import Verified
from harness.run.inputs import DRAWS
from harness.run.processes import Ended


@dataclass(frozen=True)
class Judged:
    """What is known of a variant's launch shapes after one worker.

    wrong: why shapes failed. unfinished: those that were not verified to the end, though nothing
    they did was wrong.
    """

    wrong: dict[Shape, str]
    unfinished: list[Shape]


def judge(
    cases: Sequence[Case],
    tests: Iterable[Case],
    counted: Iterable[Case],
    seen: Sequence[Verified],
) -> Judged:
    """What a variant's verified launches say; the good shapes are in neither list.

    cases: what is to be judged. tests, counted: what was to be verified. seen: what was.
    """
    wrong = _first_failures(seen)
    expected = Counter(test.shape for test in tests for _ in DRAWS)
    expected += Counter(case.shape for case in counted)
    done = Counter(shape_of(verified) for verified in seen if verified.ok)
    judged = Judged({}, [])
    for shape in dict.fromkeys(case.shape for case in cases):
        if shape in wrong:
            judged.wrong[shape] = wrong[shape]
        elif not expected[shape]:
            judged.wrong[shape] = "no test size runs at this launch shape"
        elif done[shape] < expected[shape]:
            judged.unfinished.append(shape)
    return judged


def guilty(judged: Judged, ran: Iterable[Case], ended: Ended) -> dict[Shape, str]:
    """Whose fault it is that a worker ended early: the shape that was running, or else all of them.

    The others can be verified by another worker.
    """
    if not judged.unfinished:
        return {}
    at = [case.shape for case in ran if case.id == ended.at]
    blamed = [shape for shape in judged.unfinished if shape in at] or judged.unfinished
    reason = ended.reason or "its worker ended without a result"
    return dict.fromkeys(blamed, reason)


def shape_of(v: Verified) -> Shape:
    return v.problem, v.variant, v.dtype, str(v.launch)


def _first_failures(seen: Iterable[Verified]) -> dict[Shape, str]:
    """The first wrong result of each shape, and what the emulator saw of how it came about."""
    found: dict[Shape, str] = {}
    for v in seen:
        if v.ok:
            continue
        sizes = ", ".join(f"{name} = {value}" for name, value in v.sizes.items())
        reason, before = f"at {sizes}: {v.reason}", found.get(shape_of(v))
        if before is None:
            found[shape_of(v)] = reason
        elif v.phase == "scrutiny":
            found[shape_of(v)] = f"{before}; in the emulator {reason}"
    return found
