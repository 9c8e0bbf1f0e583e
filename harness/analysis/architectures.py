"""Compare kernels across architectures: one run per architecture, figures side by side.

Each variant is shown at the largest of its cases that was counted on at least one architecture. If
the run of an architecture lacks that case, or could not count it, the reason replaces the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.analysis.finders import evaluate
from harness.analysis.readings import NOT_COLLECTED, Answer, Missing, Reading, Readings, weakest
from harness.journal.records import Compiled, Planned
from harness.tables import Run

Value = Callable[[Readings, Planned], Answer]


def _compiled(value: Callable[[Compiled], float]) -> Value:
    def found(readings: Readings, p: Planned) -> Answer:
        made = readings.compiled(p.case)
        return Reading(value(made), "measured") if made else Missing(NOT_COLLECTED)

    return found


def _counted(key: str) -> Value:
    return lambda readings, p: evaluate(key, readings, p)


def conflicts(readings: Readings, p: Planned) -> Answer:
    """Shared-memory wavefronts beyond the ideal."""
    spent, ideal = (evaluate(key, readings, p) for key in ("wavefronts", "wavefronts-ideal"))
    if isinstance(spent, Missing) or isinstance(ideal, Missing):
        return spent if isinstance(spent, Missing) else ideal
    return replace(spent, value=spent.value - ideal.value, provenance=weakest([spent, ideal]))


FIGURES: Mapping[str, Value] = {
    "registers": _compiled(lambda made: made.registers),
    "occupancy": _compiled(lambda made: made.occupancy),
    "spilled bytes": _compiled(lambda made: made.spill_bytes),
    "instructions": _counted("instructions"),
    "sectors": _counted("sectors"),
    "bank conflicts": conflicts,
}
"""The figures that are shown, and how each is obtained."""


@dataclass(frozen=True)
class Beside:
    """A figure of one variant: its value on each architecture, in the order given."""

    planned: Planned
    figure: str
    answers: Sequence[Answer]


def beside(runs: Mapping[str, Run]) -> Iterator[Beside]:
    """Yield every figure of every variant. `runs`: architecture → its run."""
    readings = {arch: Readings(run) for arch, run in runs.items()}
    for p in _shown(runs, readings):
        for figure, value in FIGURES.items():
            answers = [_answer(runs[arch], read, p, value) for arch, read in readings.items()]
            yield Beside(p, figure, answers)


def _shown(runs: Mapping[str, Run], readings: Mapping[str, Readings]) -> list[Planned]:
    """Each variant's largest case that a run counted or, if none did, that a run compiled."""
    found: dict[tuple[str, str, str], tuple[tuple[bool, int], Planned]] = {}
    for arch, run in runs.items():
        for p in run.planned.values():
            if p.case not in run.compiled:
                continue
            rank = p.case in readings[arch].counted, p.bytes
            key = p.problem, p.variant, p.dtype
            if key not in found or rank > found[key][0]:
                found[key] = rank, p
    return [p for _, p in found.values()]


def _answer(run: Run, readings: Readings, p: Planned, value: Value) -> Answer:
    own = run.planned.get(p.case)
    if own is None:
        return Missing("not applicable: it is no case there")
    answer = value(readings, own)
    outcome = run.outcomes[p.case]
    if isinstance(answer, Missing) and outcome.status != "ok":
        return Missing(outcome.reason.splitlines()[0] if outcome.reason else outcome.status)
    return answer
