"""What a variant's verified launches say about each of its launch shapes.

A launch shape is good when every test size, on both draws of inputs, and every counted size was
verified. Whatever is missing has a reason: a wrong result, or how the process ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from harness.cases import Case, Shape
from harness.records import Verified
from harness.run.processes import Ended
from harness.run.worker import DRAWS


def judge(
    cases: Sequence[Case],
    tests: Iterable[Case],
    counted: Iterable[Case],
    seen: Sequence[Verified],
    ended: Ended,
) -> dict[Shape, str]:
    """Why launch shapes of a variant failed; the good ones are not in it.

    cases: what is to be judged. tests, counted: what the worker was to verify. seen: what it did.
    """
    wrong = _first_failures(seen)
    expected = Counter(test.shape for test in tests for _ in DRAWS)
    expected += Counter(case.shape for case in counted)
    done = Counter(shape_of(verified) for verified in seen if verified.ok)
    reasons = {}
    for case in cases:
        if case.shape in wrong:
            reasons[case.shape] = wrong[case.shape]
        elif not expected[case.shape]:
            reasons[case.shape] = "no test size runs at this launch shape"
        elif done[case.shape] < expected[case.shape]:
            reasons[case.shape] = unfinished(ended, case)
    return reasons


def unfinished(ended: Ended, case: Case) -> str:
    """Why a case has no result, from how its worker ended."""
    where = "" if ended.at == case.id else f" (while running {ended.at})" if ended.at else ""
    return (ended.reason or "its worker ended without a result") + where


def shape_of(v: Verified) -> Shape:
    return v.problem, v.variant, v.dtype, str(v.launch)


def _first_failures(seen: Iterable[Verified]) -> dict[Shape, str]:
    found: dict[Shape, str] = {}
    for v in seen:
        if not v.ok:
            sizes = ", ".join(f"{name} = {value}" for name, value in v.sizes.items())
            found.setdefault(shape_of(v), f"at {sizes}: {v.reason}")
    return found
