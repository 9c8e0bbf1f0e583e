"""Each case is counted completely or has a reason; a case that crashes the worker affects no
other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cases import Case
from harness.job import Job
from harness.journal.counter_records import Counted, Emulated
from harness.journal.records import Record, Remark, Verified
from harness.problem import Work
from harness.processes.workers import Ended
from harness.run.emulated.counting import Counting

CASES = [Case("double", "v0", "float32", {"n": 1024}, {"block": b}) for b in (64, 128, 256)]


@dataclass
class Surroundings:
    """Workers that end as the test specifies, each after the given number of its job's cases."""

    endings: Iterator[tuple[int, Ended]]
    wrong: Sequence[int] = ()
    """Block sizes at which the emulator finds a fault."""
    kept: list[Record] = field(default_factory=list)
    is_stopped: bool = False

    def job(self, task: str, **more: object) -> Job:
        return replace(Job("qualify", "emulator", "sm_90", Path(), 1), **more)  # type: ignore[arg-type]

    def with_the_device(self, job: Job, deadline_s: float, keep: Callable[[Record], None]) -> Ended:
        done, ended = next(self.endings)
        for case in job.cases[:done]:
            is_right = case.launch["block"] not in self.wrong
            keep(Remark(case.problem, case.variant, case.dtype, "reads a clock", "ptx-level"))
            keep(Verified(
                case.problem, case.variant, case.dtype, case.sizes, case.launch, "before", 0,
                is_right, "" if is_right else "a fault", None,
            ))  # fmt: skip
            keep(Counted(case.id, 0, "twice", "m", 1.0, "", "machine-exact"))
        return ended

    def keep(self, record: Record) -> None:
        self.kept.append(record)

    @property
    def counted(self) -> dict[str, str]:
        """Case → the reason why it has no counters, or an empty text."""
        return {r.case: r.reason for r in self.kept if isinstance(r, Emulated)}


def carry_out(run: Surroundings) -> str:
    works = {CASES[0].group: Work(4096, 4096, 1024)}
    return Counting(run, CASES, works, 1).carry_out()


def test_every_case_is_kept_with_its_counts_and_then_as_counted() -> None:
    run = Surroundings(iter([(3, Ended())]))
    assert carry_out(run) == "ok"
    assert run.counted == {case.id: "" for case in CASES}
    assert [type(r) for r in run.kept] == [Remark, Counted, Emulated] * 3
    [first, *_] = [r for r in run.kept if isinstance(r, Emulated)]
    assert (first.counted, first.bytes, first.flops) == (CASES[0].id, 8192, 1024)


def test_a_case_that_is_late_costs_no_other() -> None:
    late = Ended("not done within 180 s, and stopped", at=CASES[1].id, late=True)
    run = Surroundings(iter([(1, late), (1, Ended())]))
    assert carry_out(run) == "not counted: not done within 180 s, and stopped"
    assert run.counted == {CASES[0].id: "", CASES[1].id: late.reason, CASES[2].id: ""}


def test_a_case_whose_records_are_cut_off_is_not_counted() -> None:
    died = Ended("the process was ended by SIGSEGV", at=CASES[1].id)
    run = Surroundings(iter([(2, died), (1, Ended())]))
    carry_out(run)
    assert run.counted[CASES[1].id] == died.reason
    assert CASES[1].id not in {r.case for r in run.kept if isinstance(r, Counted)}


def test_a_result_that_is_wrong_in_the_emulator_is_a_reason_and_no_count() -> None:
    run = Surroundings(iter([(3, Ended())]), wrong=[128])
    carry_out(run)
    assert run.counted[CASES[1].id] == "in the emulator a fault"
    assert CASES[1].id not in {r.case for r in run.kept if isinstance(r, Counted)}
    assert run.counted[CASES[2].id] == ""


def test_what_is_killed_from_outside_is_tried_again() -> None:
    killed = Ended("ended by SIGKILL", at=CASES[0].id, killed=True)
    run = Surroundings(iter([(0, killed), (3, Ended())]))
    carry_out(run)
    assert run.counted == {case.id: "" for case in CASES}


def test_a_run_that_is_stopped_keeps_nothing_of_what_was_open() -> None:
    run = Surroundings(iter([(3, Ended("the run was stopped", killed=True))]), is_stopped=True)
    assert carry_out(run) == "interrupted"
    assert run.kept == []
