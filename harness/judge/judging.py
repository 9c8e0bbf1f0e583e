"""Derive verdicts from a run's records alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property

from harness import budgets
from harness.analysis.budgets import checks
from harness.analysis.finders import evaluate
from harness.analysis.losses import losses
from harness.analysis.readings import JUDGES, Reading, Readings
from harness.journal.counter_records import Counted
from harness.journal.records import Outcome, Planned, Verified
from harness.judge import reasons, wording
from harness.judge.reasons import Reason
from harness.judge.verdicts import Budget, Counter, Counterexample, Interval, Kind, Verdict
from harness.quantities import QUANTITIES
from harness.run.planning import UNCOUNTED
from harness.tables import Run

_WORST: Sequence[Kind] = (
    "compile-error", "fault", "wrong", "cheat", "cannot-tell", "slower", "same", "faster", "right"
)  # fmt: skip
"""The worst outcome first: one case represents all of a kernel's launch shapes and types, so a
kernel passes only if all of them do."""

_OF_COMPARISONS: Mapping[str, Kind] = {"faster": "faster", "slower": "slower", "same": "same"}


CRASH = "the compiler"
"""The cause of a verdict on a kernel whose compiler crashed or was killed."""


def crashed_again(first: Verdict, second: Verdict) -> Verdict:
    """The second of two verdicts on a kernel, which says so if the compiler crashed in both."""
    same = first.cause == second.cause == CRASH
    if not same or not reasons.is_same_crash(first.message, second.message):
        return second
    told = second.message.replace(reasons.CRASHED, reasons.CRASHED_AGAIN)
    return wording.worded(replace(second, message=told))


def verdicts(run: Run, kernels: Sequence[str], plain: Callable[[str], str]) -> list[Verdict]:
    """A verdict for each kernel, in order.

    `plain`: a function that removes this machine's folders from a text.
    """
    whole = _Judged(run, plain)
    return [whole.of(kernel, kernels[0]) for kernel in kernels]


class _Judged:
    def __init__(self, run: Run, plain: Callable[[str], str]) -> None:
        self._run, self._plain = run, plain
        self._verified = run.of(Verified)

    @cached_property
    def _readings(self) -> Readings:
        return Readings(self._run)

    def of(self, kernel: str, first: str) -> Verdict:
        cases = [p for p in self._run.planned.values() if p.variant == kernel]
        own = [v for v in self._verified if v.variant == kernel]
        if not cases:
            return wording.worded(Verdict(kernel, "cannot-tell", "", message="it was not planned"))
        # A launch shape that excludes a size has no effect on the others.
        meant = [p for p in cases if not self._is_left_out(p)] or cases
        judged = [self._of_case(p, own) for p in meant]
        found = min(judged, key=lambda verdict: _WORST.index(verdict.verdict))
        if found.is_right and self._run.is_timed:
            found = self._timed(found, cases, first)
        found = replace(found, seed=int(self._run.info.get("seed") or 0))
        return wording.worded(self._with_counters(found, cases))

    def _is_left_out(self, p: Planned) -> bool:
        outcome = self._run.outcomes[p.case]
        return (outcome.status, outcome.stage) == ("skipped", "plan")

    def _of_case(self, p: Planned, own: Sequence[Verified]) -> Verdict:
        outcome = self._run.outcomes[p.case]
        mine = [v for v in own if (v.dtype, v.launch) == (p.dtype, p.launch)]
        right = sum(v.ok for v in mine)
        tested = [v.sizes for v in mine if v.ok and v.phase == "test"]
        sizes = tuple(each for n, each in enumerate(tested) if each not in tested[:n])
        blank = Verdict(p.variant, "cannot-tell", "", verified=right, verified_at=sizes)
        if outcome.status == "ok":
            return replace(blank, verdict="right")
        if outcome.status == "skipped":
            return self._skipped(blank, outcome, mine)
        return self._failed(blank, outcome, mine, p)

    def _skipped(self, blank: Verdict, outcome: Outcome, mine: Sequence[Verified]) -> Verdict:
        """The verdict on a skipped case: right if it was correct at all test sizes and only too
        large to be counted; otherwise cannot-tell."""
        message = self._plain(outcome.reason)
        if message.startswith(UNCOUNTED) and mine and all(v.ok for v in mine):
            return replace(blank, verdict="right", remarks=(message,))
        return replace(blank, cause="not run", message=message)

    def _failed(
        self, blank: Verdict, outcome: Outcome, mine: Sequence[Verified], p: Planned
    ) -> Verdict:
        message = self._plain(outcome.reason)
        if outcome.stage == "compile" and (crash := reasons.crash_in(message)):
            return replace(blank, cause=CRASH, message=f"{crash}\n  {reasons.CRASHED}")
        if outcome.again:
            return replace(blank, cause="the machine", message=message)
        if outcome.stage == "compile":
            found = reasons.of_compiler(outcome.reason)
            return self._placed(replace(blank, verdict="compile-error", message=message), found)
        if outcome.stage == "plan":
            of_problem = "problem.py" in outcome.reason
            if of_problem:
                return replace(blank, cause="the problem", message=message)
            return replace(blank, verdict="fault", cause="launch", message=message)
        bad = [v for v in mine if not v.ok]
        told = [v for v in bad if v.phase != "scrutiny"] or bad
        if not told:
            found = self._reason(outcome.reason)
            return self._placed(replace(blank, verdict=found.refusal, message=message), found)
        least = min(told, key=lambda v: math.prod(v.sizes.values()))
        found = self._reason(least.reason)
        verdict = replace(
            blank, verdict=found.refusal, message=message,
            counterexample=Counterexample(
                sizes=least.sizes, dtype=least.dtype, launch=least.launch, draw=least.draw,
                **asdict(found.element),
            ),
        )  # fmt: skip
        return self._placed(verdict, found)

    def _reason(self, text: str) -> Reason:
        """Explain why a kernel was refused, and whether the kernel, the reference or the harness is
        at fault. An emulated kernel is data and cannot end a process; only the reference or the
        harness can."""
        found = reasons.of_launch(text)
        if not self._run.is_timed and found.cause in reasons.ENDS:
            return replace(found, refusal="cannot-tell")
        return found

    def _placed(self, verdict: Verdict, found: Reason) -> Verdict:
        cause = "" if verdict.verdict == "compile-error" else found.cause
        return replace(verdict, cause=cause, file=self._plain(found.file), line=found.line)

    # Times

    def _timed(self, right: Verdict, cases: Sequence[Planned], first: str) -> Verdict:
        """Add the kernel's time at its best launch shape and largest size, and its speed-up over
        the first kernel."""
        shown = [p for p in self._shown if p in cases]
        if not shown:
            return right
        p = max(shown, key=lambda each: (each.bytes, each.flops))
        time = self._run.time(p.case)
        if time is None:
            return right
        timed = replace(right, time_ns=Interval(time.value, time.low, time.high))
        base = [q for q in self._shown if q.variant == first and q.group == p.group]
        if p.variant == first or not base:
            return timed
        found = self._run.compare(p.case, base[0].case)
        if found.ratio is None or found.verdict not in _OF_COMPARISONS:
            told = "too uncertain to say faster, slower or the same"
            return replace(timed, verdict="cannot-tell", cause="unclear", message=told)
        ratio = Interval(found.ratio.value, found.ratio.low, found.ratio.high)
        return replace(timed, verdict=_OF_COMPARISONS[found.verdict], speedup=ratio)

    @cached_property
    def _shown(self) -> list[Planned]:
        """Every group's kernels, each at the launch shape that the report shows."""
        timings = self._run.timings
        return [p for group in timings.groups for p in timings.shown(group)]

    # Counters

    def _with_counters(self, verdict: Verdict, cases: Sequence[Planned]) -> Verdict:
        own = self._run.remarks.get((cases[0].problem, cases[0].variant), ())
        remarks = [self._plain(remark.text) for remark in own]
        verdict = replace(verdict, remarks=tuple(dict.fromkeys([*verdict.remarks, *remarks])))
        if not verdict.is_right:
            return verdict
        counted = [p for p in cases if p.case in self._readings.counted]
        verdict = replace(verdict, budgets=tuple(self._budgets(cases)))
        if not counted:
            return verdict
        largest = max(counted, key=lambda p: (p.bytes, p.flops))
        found = dict(self._counters(largest))
        waves, ideal = found.get("wavefronts"), found.get("wavefronts_ideal")
        exact = waves and ideal and {waves.provenance, ideal.provenance} <= JUDGES
        return replace(
            verdict, counters=found, counted_at=largest.sizes,
            bank_conflicts=waves.value - ideal.value if waves and ideal and exact else None,
            losses=tuple(self._plain(str(loss)) for loss in losses(self._readings, largest)),
        )  # fmt: skip

    def _counters(self, p: Planned) -> Iterator[tuple[str, Counter]]:
        """Every quantity with a value, under its `expect` name, followed by ncu's counters."""
        for name in budgets.QUANTITIES:
            key = name.replace("_", "-")
            answer = evaluate(key, self._readings, p)
            if isinstance(answer, Reading):
                yield name, Counter(answer.value, QUANTITIES[key].unit, answer.provenance)
        for record in self._run.of(Counted):
            if record.case == p.case and record.step == self._readings.main_step(p.case):
                yield record.metric, Counter(record.value, record.unit, record.provenance)

    def _budgets(self, cases: Sequence[Planned]) -> Iterator[Budget]:
        names = {p.case for p in cases}
        for check in checks(self._run, self._readings):
            if check.case in names:
                yield Budget(
                    check.name, check.budget.words, check.status, check.value,
                    self._plain(check.where), check.reason,
                )  # fmt: skip
