"""A case's counters by launch, each with its value or the reason why the value is missing.

A case may have several launches. Amounts (bytes, instructions) are summed over them, and a ratio of
amounts is formed from the sums, never averaged. Anything else, such as occupancy, is taken from the
main launch: the longest or, without times, the one with the most instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.budgets import ASYNCHRONOUS
from harness.journal.counter_records import Counted, Provenance, Uncounted
from harness.journal.records import Compiled, times_the_work
from harness.ncu.metrics import base, catalogue
from harness.tables import Run

NOT_COLLECTED, NOT_APPLICABLE = "not collected", "not applicable"


ORIGINS: Sequence[str] = (
    "measured", "ncu", "machine-exact", "emulator-exact", "code-exact", "hopper-rules",
    "emulator-model", "ptx-level",
)  # fmt: skip
"""The origins of values, the most reliable first."""

JUDGES = frozenset(ORIGINS[: ORIGINS.index("emulator-model")])
"""The origins on which a cause or a claim may rest: their values are the same every time. A model
may be off, and PTX differs from the machine code that a GPU executes, so values of other origins
are shown but decide nothing."""

CAVEATS = {
    "emulator-model": "computed from a model of the hardware",
    "ptx-level": "counted in PTX, which differs from the machine code that a GPU executes",
}
"""Origin → the reason why such a value is not decisive."""

_OF_CODE = ("machine-exact", "code-exact")
_LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld"  # every launch has this counter
_NONE_IF_ABSENT = frozenset(map(base, ASYNCHRONOUS))

FAR = 16.0
"""The largest ratio of a case's work to that of the counted size. Beyond it the count is only an
estimate, because a launch's one-time work has too much weight."""


@dataclass(frozen=True)
class Reading:
    """A value in base units, with its provenance.

    `counted_at`: the smaller size that was counted in place of the case's own. A ratio is used
    unchanged; an amount is scaled by the ratio of the work.
    """

    value: float
    provenance: Provenance
    counted_at: str = ""

    @property
    def judges(self) -> bool:
        """Return whether a cause or a claim may rely on the value."""
        return self.provenance in JUDGES


@dataclass(frozen=True)
class Missing:
    """The reason why a value is missing; the words before the colon are one of three kinds of
    absence."""

    reason: str

    @property
    def short(self) -> str:
        return self.reason.partition(":")[0]


NOTHING = Missing(NOT_APPLICABLE)
"""The result of a ratio whose divisor is zero because the kernel does none of that work."""

Answer = Reading | Missing


class Readings:
    """A run's counters by case, step and base name."""

    def __init__(self, run: Run) -> None:
        self.run = run
        # If a counter was recorded with two provenances, the more reliable one is used.
        ranked = sorted(run.of(Counted), key=lambda r: -ORIGINS.index(r.provenance))
        self._values = {(r.case, r.step, base(r.metric)): r for r in ranked}
        self._reasons = {(r.case, r.step, base(r.metric)): r.reason for r in run.of(Uncounted)}
        self._names = {(r.case, r.step): r.kernel for r in ranked}

    @cached_property
    def counted(self) -> set[str]:
        """The cases that have a counter, or a reason why they lack one."""
        known = {case for case, _, _ in [*self._values, *self._reasons]}
        return known | {case for case, e in self.run.emulated.items() if e.counted}

    def counted_at(self, case: str) -> str:
        """The smaller size at which a case was counted; empty if it was counted at its own."""
        found = self.run.emulated.get(case)
        if found is None or found.counted in ("", case):
            return ""
        return ", ".join(f"{name} = {value:,}" for name, value in found.sizes.items())

    def _times_the_work(self, case: str) -> float:
        """The ratio of a case's work to that of the size at which it was counted."""
        found = self.run.emulated.get(case)
        if found is None or found.counted in ("", case):
            return 1.0
        return times_the_work(self.run.planned[case], found)

    @cached_property
    def _steps(self) -> dict[str, list[int]]:
        found: dict[str, set[int]] = {}
        for case, step, _ in [*self._values, *self._reasons]:
            found.setdefault(case, set()).add(step)
        return {case: sorted(steps) for case, steps in found.items()}

    def steps(self, case: str) -> list[int]:
        """The launches with any recorded data."""
        return (
            self._steps.get(self.run.counted_as(case))
            or self._steps.get(case)
            or [c.step for c in self.run.compiled.get(case, [])]
        )

    def kernel(self, case: str, step: int) -> str:
        """The name of a launch's kernel; empty if unknown."""
        names = self._names.get((self.run.counted_as(case), step))
        if names:
            return names
        made = self.run.compiled.get(case, [])
        return next((c.kernel for c in made if c.step == step), "")

    def metrics(self, cases: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Map every counter for which these cases have a value, or a reason for its absence, to its
        unit and provenance."""
        wanted = {*cases, *map(self.run.counted_as, cases)}
        found: dict[str, tuple[str, str]] = {
            r.metric: (r.unit, r.provenance)
            for (case, _, _), r in self._values.items()
            if case in wanted
        }
        known = {base(metric) for metric in found}
        units = {base(m.name): m.unit for m in catalogue().metrics.values()}
        for case, _, metric in self._reasons:
            if case in wanted and metric not in known:
                known.add(metric)
                found[metric] = (units.get(metric, ""), "")
        return found

    def at(self, case: str, step: int, metric: str) -> Answer:
        """One counter of one launch, unscaled. If the emulator has counted a launch's machine code
        and found no asynchronous instructions, their counters are 0."""
        counted = self.run.counted_as(case)
        found = self._values.get((counted, step, metric))
        if found:
            return Reading(found.value, found.provenance, self.counted_at(case))
        loads = self._values.get((counted, step, _LOADS))
        if loads and loads.provenance in _OF_CODE and metric in _NONE_IF_ABSENT:
            return Reading(0, loads.provenance, self.counted_at(case))
        return Missing(self._reasons.get((case, step, metric), NOT_COLLECTED))

    def total(self, case: str, *metrics: str) -> Answer:
        """The sum of the named counters over a case's launches."""
        answers = [self.at(case, step, m) for step in self.steps(case) for m in metrics]
        missing = next((a for a in answers if isinstance(a, Missing)), None)
        if missing or not answers:
            return missing or Missing(NOT_COLLECTED)
        read = [a for a in answers if isinstance(a, Reading)]
        times, origin = self._times_the_work(case), weakest(read)
        if times > FAR and origin in JUDGES:
            origin = "emulator-model"
        return Reading(sum(a.value for a in read) * times, origin, read[0].counted_at)

    def main(self, case: str, metric: str) -> Answer:
        """A counter of the case's main launch."""
        return self.at(case, self.main_step(case), metric)

    def main_step(self, case: str) -> int:
        """The launch that represents the case for quantities whose sum would be meaningless."""
        return self.run.main_step(case)

    def compiled(self, case: str) -> Compiled | None:
        """The compiler's results for the main launch."""
        records = self.run.compiled.get(case, [])
        step = self.main_step(case)
        return next((c for c in records if c.step == step), None)


def weakest(readings: Sequence[Reading]) -> Provenance:
    """The provenance of a value computed from several: the least reliable provenance among them."""
    return max((r.provenance for r in readings), key=ORIGINS.index)


def ratio(over: Answer, under: Answer) -> Answer:
    """One sum divided by another; not applicable if the divisor is zero."""
    for answer in (over, under):
        if isinstance(answer, Missing):
            return answer
    assert isinstance(over, Reading)
    assert isinstance(under, Reading)
    if not under.value:
        return NOTHING
    at = over.counted_at or under.counted_at
    return Reading(over.value / under.value, weakest([over, under]), at)
