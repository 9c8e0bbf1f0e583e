"""Count one variant's timed cases in a worker without a GPU. Each case is counted completely, or
the reason is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.cases import Case
from harness.journal.counter_records import Emulated
from harness.journal.records import Record, Remark, Verified
from harness.problem import Work
from harness.run.measurement import ATTEMPTS
from harness.run.surroundings import Surroundings

DEADLINE_S = 600.0
"""Deadline for one case: ten times the limit for a quick one (sizes.py), because the machine may be
busy."""


@dataclass
class Counting:
    """Counts cases one after another. A case gets its Emulated record only after all its other
    records are stored.

    `works`: group → the work model at that size.
    """

    run: Surroundings
    cases: Sequence[Case]
    works: Mapping[str, Work]
    cores: int

    def carry_out(self) -> str:
        """Count the cases; return the result in a word or two. A case that crashes the worker
        affects no other."""
        rest, reasons, attempts = list(self.cases), dict[str, str](), 0
        while rest:
            told = _Told(rest)
            job = self.run.job("qualify", cases=tuple(rest), jobs=self.cores)
            ended = self.run.with_the_device(job, DEADLINE_S, told.take)
            if self.run.is_stopped:
                return "interrupted"
            told.finish(unless=ended.at if ended.reason else "")
            for case, records in told.whole:
                for record in records:
                    self.run.keep(record)
                self.run.keep(emulated(case, case, self.works[case.group]))
            reasons |= told.wrong
            rest = [c for c in rest if c.id not in told.ended]
            attempts += not ended.crowded
            if (ended.killed or ended.no_memory) and attempts < ATTEMPTS:
                continue  # none of them is to blame: all are tried again
            blamed = [c for c in rest if c.id == ended.at] or rest
            why = ended.reason or "its worker ended without a result"
            reasons |= {case.id: why for case in blamed}
            rest = [c for c in rest if c not in blamed]
        for case in self.cases:
            if case.id in reasons:
                self.run.keep(emulated(case, None, None, reasons[case.id]))
        return next((f"not counted: {why.splitlines()[0]}" for why in reasons.values()), "ok")


@dataclass
class _Told:
    """Collects one worker's reports by case; the first report on a case is that of its
    verification.

    `whole`: the correct cases, with all their records. `wrong`: case → why its result is wrong.
    """

    cases: Sequence[Case]
    whole: list[tuple[Case, list[Record]]] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    _open: tuple[Case, list[Record]] | None = None
    _remarks: list[Record] = field(default_factory=list)

    @property
    def ended(self) -> set[str]:
        return {case.id for case, _ in self.whole} | self.wrong.keys()

    def take(self, record: Record) -> None:
        if isinstance(record, Remark):  # it precedes the case that it concerns
            self._remarks.append(record)
        elif isinstance(record, Verified):
            self.finish()
            case = next(c for c in self.cases if _is_of(record, c))
            if record.ok:
                self._open = case, self._remarks
            else:
                self.wrong[case.id] = f"in the emulator {record.reason}"
            self._remarks = []
        elif self._open:
            self._open[1].append(record)

    def finish(self, unless: str = "") -> None:
        """Complete the case whose reports were arriving, because another case begins or the worker
        has ended.

        `unless`: the case during which the worker ended too early.
        """
        if self._open and self._open[0].id != unless:
            self.whole.append(self._open)
        self._open = None


def _is_of(v: Verified, case: Case) -> bool:
    return (v.dtype, v.sizes, v.launch) == (case.dtype, case.sizes, case.launch)


def emulated(case: Case, counted: Case | None, work: Work | None, reason: str = "") -> Emulated:
    """Make the record that says which case's counters represent a timed case. `counted`: that case,
    or None if there is none."""
    return Emulated(
        case.id, case.problem, case.variant, case.dtype, case.launch,
        counted.id if counted else "", counted.sizes if counted else {},
        work.bytes if work else 0, work.flops if work else 0, reason,
    )  # fmt: skip
