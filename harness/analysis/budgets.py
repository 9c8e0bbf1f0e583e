"""Check each case against the budgets that bench.yaml declares for its variant.

A budget is checked against compiler output, Nsight Compute's readings or exact emulator counters.
If the only figure was counted in PTX or comes from a model, the budget counts as not checked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness import budgets
from harness.analysis.finders import evaluate
from harness.analysis.readings import CAVEATS, Answer, Missing, Reading, Readings, weakest
from harness.budgets import BANK_CONFLICTS, Budget
from harness.errors import JournalError
from harness.journal.counter_records import Provenance, SourceLine
from harness.journal.records import Compiled, Planned
from harness.ncu.metrics import base
from harness.tables import Run

Status = Literal["kept", "broken", "not checked"]

COMPILED: Mapping[str, str] = {
    "registers": "registers", "shared": "shared_bytes", "spills": "spill_bytes",
    "theoretical_occupancy": "occupancy",
}  # fmt: skip
"""Budgets that every launch of a case must meet, not only its main one: name → field of
Compiled."""

_MAIN_LAUNCH = (".ratio", ".pct", "_per_address")
"""Name suffixes of counters that cannot be summed over launches."""


@dataclass(frozen=True)
class Check:
    """One budget of one case.

    `value`: None if there was no figure to check; provenance is then empty. `where`: the source
    line that contributes most to the figure, as `file:line`, or the kernel; empty if unknown.
    `reason`: why the budget was not checked.
    """

    case: str
    problem: str
    variant: str
    dtype: str
    name: str
    budget: Budget
    status: Status
    value: float | None = None
    provenance: Provenance | Literal[""] = ""
    where: str = ""
    reason: str = ""

    @property
    def text(self) -> str:
        """`bank_conflicts is 430,080, expected none (emulator-exact) at v3.cu:31`."""
        if self.value is None:
            return f"{self.name}, expected {self.budget.words}: {self.reason}"
        at = f" at {self.where}" if self.where else ""
        return (
            f"{self.name} is {budgets.shown(self.value)}, expected {self.budget.words} "
            f"({self.provenance}){at}"
        )


def checks(run: Run, readings: Readings | None = None) -> list[Check]:
    """Every budget of every case, in the matrix's order."""
    if not any(p.expect for p in run.planned.values()):
        return []
    checker = _Checker(run, readings or Readings(run))
    return [found for p in run.planned.values() for found in checker.of(p)]


def broken(checks: Sequence[Check]) -> list[tuple[list[str], str]]:
    """List each broken budget of a variant once, with its broken cases and the first one's
    message."""
    found: dict[tuple[str, ...], list[Check]] = {}
    for check in checks:
        if check.status == "broken":
            key = check.problem, check.variant, check.dtype, check.name
            found.setdefault(key, []).append(check)
    return [([check.case for check in same], same[0].text) for same in found.values()]


class _Checker:
    def __init__(self, run: Run, readings: Readings) -> None:
        self._run, self._readings = run, readings
        self._lines: dict[str, list[SourceLine]] = defaultdict(list)
        for line in run.of(SourceLine):
            self._lines[line.case].append(line)

    def of(self, p: Planned) -> Iterator[Check]:
        outcome = self._run.outcomes[p.case]
        for name, text in p.expect.items():
            budget = _read(p, text)
            answer, where = self._figure(p, name, budget)
            about = p.case, p.problem, p.variant, p.dtype, name, budget
            if outcome.status == "failed":
                yield Check(*about, "not checked", reason="the case failed")
            elif isinstance(answer, Missing):
                skipped = outcome.status == "skipped"
                why = outcome.reason.splitlines()[0] if skipped and outcome.reason else ""
                yield Check(*about, "not checked", reason=why or answer.reason)
            elif answer.counted_at:
                yield Check(*about, "not checked", answer.value, answer.provenance,
                            reason=f"emulated at {answer.counted_at} alone")  # fmt: skip
            elif not answer.judges:
                yield Check(*about, "not checked", answer.value, answer.provenance,
                            reason=CAVEATS[answer.provenance])  # fmt: skip
            else:
                kept = budget.holds(answer.value)
                yield Check(*about, "kept" if kept else "broken", answer.value, answer.provenance,
                            "" if kept else where or self._line(p, name, budget))  # fmt: skip

    def _figure(self, p: Planned, name: str, budget: Budget) -> tuple[Answer, str]:
        """Return the figure that the budget limits, and the kernel or line to which the figure
        belongs; the latter is empty if the figure covers several.
        """
        if name in COMPILED:
            return self._made(p, name, budget)
        if name == BANK_CONFLICTS:
            return self._conflicts(p), ""
        if name in budgets.QUANTITIES:
            return evaluate(name.replace("_", "-"), self._readings, p), ""
        read = self._readings.main if name.endswith(_MAIN_LAUNCH) else self._readings.total
        return read(p.case, base(name)), ""

    def _made(self, p: Planned, name: str, budget: Budget) -> tuple[Answer, str]:
        """Return the figure of the first launch that breaks the budget, else of the main launch."""
        made: Sequence[Compiled] = self._run.compiled.get(p.case, [])
        for each in made:
            value = float(getattr(each, COMPILED[name]))
            if not budget.holds(value):
                spilled = self._of_this_run(each.local_at) if name == "spills" else ""
                return Reading(value, "measured"), spilled or f"kernel {each.kernel}"
        return evaluate(name.replace("_", "-"), self._readings, p), ""

    def _conflicts(self, p: Planned) -> Answer:
        spent, ideal = (
            evaluate(key, self._readings, p) for key in ("wavefronts", "wavefronts-ideal")
        )
        if isinstance(spent, Missing):
            return spent
        if isinstance(ideal, Missing):
            return ideal
        return replace(spent, value=spent.value - ideal.value, provenance=weakest([spent, ideal]))

    def _line(self, p: Planned, name: str, budget: Budget) -> str:
        """The line that exceeds its limit the most, if per-line counts exist."""
        parts = _LINES.get(name)
        if parts is None:
            return ""
        sign = -1 if budget.relation in (">=", ">") else 1

        def beyond(line: SourceLine) -> float:
            over, under = parts(line)
            return sign * (over - budget.limit * under)

        worst = max(self._lines[p.case], key=beyond, default=None)
        if worst is None or beyond(worst) <= 0:
            return ""
        return self._of_this_run(f"{worst.file}:{worst.line}")

    def _of_this_run(self, place: str) -> str:
        """Map a location in a two-sided run's copy of the sources to the user's own file."""
        _, copied, own = place.rpartition(f"{self._run.folder.name}/kernels/")
        return f"kernels/{own}" if copied and self._run.info.get("beside") else place


def _read(p: Planned, text: str) -> Budget:
    try:
        return budgets.parse(text)
    except ValueError:
        raise JournalError(
            f"the journal expects `{text}` of {p.case}, which is not a budget\n"
            "  run the benchmark again"
        ) from None


_LINES: Mapping[str, Callable[[SourceLine], tuple[int, int]]] = {
    BANK_CONFLICTS: lambda line: (line.conflicts, 0),
    "wavefronts": lambda line: (line.wavefronts, 0),
    "memory_l1_wavefronts_shared": lambda line: (line.wavefronts, 0),
    "wavefronts_over_ideal": lambda line: (line.wavefronts, line.wavefronts_ideal),
    "sectors_per_load": lambda line: (line.sectors, line.requests),
    "sectors_per_store": lambda line: (line.store_sectors, line.store_requests),
    "sectors_per_request": lambda line: (line.every_sector, line.every_request),
    "load_sectors": lambda line: (line.sectors, 0),
    "sectors": lambda line: (line.every_sector, 0),
    "sectors_over_compulsory": lambda line: (line.every_sector, 0),
    "load_requests": lambda line: (line.requests, 0),
    "requests": lambda line: (line.every_request, 0),
    "global_atomics": lambda line: (line.atomic_requests, 0),
}
"""Budget → a function of a line: its amount and 0 or, for a ratio, numerator and denominator."""
