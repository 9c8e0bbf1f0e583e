"""Qualify one variant alone: verify it at its test sizes, and decide on each of its launch shapes.

A launch shape is good if every test size, on both sets of inputs, and every counted size was
verified. If a verification is missing, the reason is a wrong result or the way the process ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.cases import Case, Shape
from harness.journal.records import Finished, Record, Verified
from harness.processes.workers import Ended
from harness.run.measurement import ATTEMPTS
from harness.run.surroundings import Surroundings
from harness.worker.inputs import DRAWS


@dataclass
class Qualification:
    """Verifies one variant at its test sizes and, on the emulator, counts it at its bench sizes.

    `tests`: the test cases that can be run, of any variant. `uncounted`: case → why the emulator
    does not count it.
    """

    run: Surroundings
    cases: Sequence[Case]
    tests: Sequence[Case]
    cores: int
    uncounted: Mapping[str, str] = field(default_factory=dict)
    _failed: dict[Shape, str] = field(default_factory=dict)
    _late: set[Shape] = field(default_factory=set)
    """The shapes that failed because they missed the deadline."""
    _again: set[Shape] = field(default_factory=set)
    """The launch shapes that failed through no fault of their own."""

    def carry_out(self) -> str:
        """Qualify the variant; return the result in a word or two.

        Afterwards, each launch shape that fails has its outcome. If a shape crashes the worker,
        another worker takes the remaining ones.
        """
        name = "/".join((self.cases[0].problem, self.cases[0].variant))
        if not self._verify():
            return "interrupted"  # not the variant's fault: a resumed run tries it again
        for case in self.cases:
            if reason := self._failed.get(case.shape):
                limits = ("qualify_s",) if case.shape in self._late else ()
                self.run.finish(case, "failed", reason, case.shape in self._again, limits)
            elif reason := self.uncounted.get(case.id):
                self.run.finish(case, "skipped", reason)
            elif not self.run.is_timed:
                self.run.finish(case, "ok")
        self.run.keep(Finished(f"qualify {name}"))
        return next((f"FAILED: {why.splitlines()[0]}" for why in self._failed.values()), "ok")

    def _verify(self) -> bool:
        """Verify all shapes, in a new worker whenever one ends early. Return whether all shapes
        were done; False if the run was stopped."""
        rest, attempts = list(self.cases), 0
        while rest:
            shapes = {case.shape for case in rest}
            tests = [test for test in self.tests if test.shape in shapes]
            counted = [c for c in rest if not (self.run.is_timed or c.id in self.uncounted)]
            seen: list[Verified] = []

            def keep(record: Record, seen: list[Verified] = seen) -> None:
                if isinstance(record, Verified):
                    seen.append(record)
                self.run.keep(record)

            job = self.run.job("qualify", tests=tuple(tests), cases=tuple(counted), jobs=self.cores)
            ended = self.run.qualify(job, keep)
            if self.run.is_stopped:
                return False
            judged = judge(rest, tests, counted, seen)
            blamed = guilty(judged, (*tests, *counted), ended)
            self._failed |= judged.wrong
            if ended.killed or ended.no_memory:  # none of them is to blame: all are tried again
                attempts += not ended.crowded
                if attempts < ATTEMPTS:
                    rest = [case for case in rest if case.shape in judged.unfinished]
                    continue
                blamed = dict.fromkeys(judged.unfinished, ended.reason)
                self._again |= blamed.keys()
            elif ended.late:
                self._late |= blamed.keys()
            self._failed |= blamed
            rest = [c for c in rest if c.shape in set(judged.unfinished) - blamed.keys()]
        return True


@dataclass(frozen=True)
class Judged:
    """The status of a variant's launch shapes after one worker.

    `wrong`: why shapes failed. `unfinished`: shapes that were not completely verified, although
    none of their results was wrong.
    """

    wrong: dict[Shape, str]
    unfinished: list[Shape]


def judge(
    cases: Sequence[Case],
    tests: Iterable[Case],
    counted: Iterable[Case],
    seen: Sequence[Verified],
) -> Judged:
    """Judge a variant's launch shapes by its verified launches.

    Good shapes are in neither `wrong` nor `unfinished`. `cases`: the cases to judge. `tests`,
    `counted`: the cases that should be verified. `seen`: the cases that were verified.
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
    """The shapes that are held responsible for a worker that ended early: the one that was running,
    or else all.

    Another worker can verify the remaining shapes.
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
    """The first wrong result of each shape, with the cause that the emulator found, if any."""
    found: dict[Shape, str] = {}
    for v in seen:
        if v.ok:
            continue
        sizes = ", ".join(f"{name} = {value}" for name, value in v.sizes.items())
        reason, before = f"at {sizes}: {v.reason}", found.get(shape_of(v))
        if before is None:
            found[shape_of(v)] = reason
        elif v.phase == "scrutiny" and not (
            _names_a_result(v.reason) and _names_a_result(before.partition(": ")[2])
        ):  # the same wrong result is reported once
            found[shape_of(v)] = f"{before}; in the emulator {reason}"
    return found


def _names_a_result(reason: str) -> bool:
    """Return whether the reason concerns an element, as in "`y[0]` is wrong", rather than the
    cause."""
    return reason.startswith("`")
