"""Assignment of work items, even when workers die or cards are faulty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.cases import Case, Device
from harness.cluster import remote, sweep
from harness.cluster.messages import Description, Requirements, Task, TaskResult
from harness.cluster.sweep import Sweep
from harness.cluster.worker_pool import Member, WorkerPool
from harness.errors import ClusterLost, DeviceLost
from harness.journal.file import Journal
from harness.journal.records import Outcome, Planned, Record, Renewed, Round
from harness.matrix.written import Limits, Timing
from harness.run.journal_state import JournalState
from harness.run.task_runner import RunSettings, TaskRunner, WorkItem

Does = Callable[[Member, Task], tuple[Sequence[Record], TaskResult | Exception]]


class Clock:
    """A replacement for the module time, whose clock advances only when the code waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def at(self, when: float) -> Callable[[], bool]:
        return lambda: self.now >= when


class Scripted(WorkerPool):
    """A pool without a cluster: each task ends as its script says, and at once unless the script
    gives a duration."""

    takes: Callable[[Task], Callable[[], bool]] = staticmethod(lambda task: lambda: True)
    """Called when a task begins; returns a function that says whether the task has ended by now."""

    def __init__(self, does: Does, folder: Path, names: Sequence[str], device: Device) -> None:
        nothing = Requirements("a clock", None, Path(), {}, {}, {})
        super().__init__(None, "tcp://nowhere:1", "attempt", nothing)
        self.does, self.folder = does, folder
        self.given: list[tuple[str, str]] = []
        self._written: dict[str, bytes] = {}
        for name in names:
            about = Description("host", 1, device=replace(device, bus=name))
            self.members[name] = Member(name, about, name)

    def refresh(self) -> list[Member]:
        return []

    def submit(self, member: Member, function: Any, *args: Any, **how: Any) -> Any:
        assert not member.running, "one measurement at a time on a card"
        task = args[0]
        self.given.append((member.address, task.item.name))
        records, ended = self.does(member, task)
        path = self.folder / f"{task.key}.jsonl"
        with Journal(path) as journal:
            for record in records:
                journal.append(record)
        self._written[task.key] = path.read_bytes()
        failed = isinstance(ended, Exception)
        if isinstance(ended, TaskResult):
            ended = replace(ended, size=path.stat().st_size)
        return SimpleNamespace(
            done=self.takes(task), status="error" if failed else "finished", result=lambda: ended,
            exception=lambda timeout: ended, cancel=lambda: None,
        )  # fmt: skip

    def ask(self, function: Any, *args: Any, of: Sequence[Member]) -> dict[str, Any]:
        if function is remote.told:
            offsets = args[1]
            found = {key: self._written[key][offset:] for key, offset in offsets.items()}
            return {of[0].address: found} if of else {}
        return {}


class Book:
    """The outcomes of the tasks."""

    def __init__(self, known: JournalState) -> None:
        self.known = known
        self.records: list[Record] = []

    def keep(self, record: Record) -> None:
        self.records.append(record)
        self.known.note(record)


@dataclass
class Stage:
    """A stage that measures two cases, each in a comparison of its own; the pool's members act as
    the test specifies."""

    cases: list[Case]
    device: Device
    folder: Path
    takes: Callable[[Task], Callable[[], bool]] = Scripted.takes

    def __post_init__(self) -> None:
        self.items = [WorkItem("measure", case.group, (case,)) for case in self.cases]

    def run(self, does: Does, *members: str) -> dict[str, str]:
        known = JournalState({case.id: case.group for case in self.cases})
        self.book = Book(known)
        for c in self.cases:
            known.note(Planned(c.id, c.problem, c.variant, c.dtype, c.sizes, c.launch, 8, 1, True,
                               False))  # fmt: skip
        self.runner = TaskRunner(
            RunSettings("a clock", self.device, Path(), Limits(), Timing()),
            known,
            {},
            self.book.keep,
        )  # fmt: skip
        self.pool = Scripted(does, self.folder, members, self.device)
        self.pool.takes = self.takes
        view = SimpleNamespace(doing=lambda member, what: None, done=lambda what: None)
        tasks = SimpleNamespace(
            task=lambda item, runner, member, cores: Task(
                "attempt", self.pool.key("x"), item, runner.setting, (), {}, cores
            )
        )
        swept = Sweep(self.pool, self.device, self.runner, self.items, view, tasks)
        return swept.carry_out()

    @property
    def outcomes(self) -> dict[str, Outcome]:
        return self.runner.known.outcomes


def fine(member: Member, task: Task) -> tuple[list[Record], TaskResult]:
    return [Outcome(case.id, "ok") for case in task.item.cases], TaskResult(0, "1 case")


@pytest.fixture
def stage(double: Callable[..., Case], device: Device, tmp_path: Path) -> Stage:
    return Stage([double(n=1024), double(n=2048)], device, tmp_path)


def test_every_work_item_is_done_once_and_its_records_arrive(stage: Stage) -> None:
    found = stage.run(fine, "a", "b")
    assert list(found.values()) == ["1 case", "1 case"]
    assert sorted(name for name, _ in stage.pool.given) == ["a", "b"]
    assert {o.status for o in stage.outcomes.values()} == {"ok"}


def test_many_cases_begin_before_few_of_a_larger_size(stage: Stage) -> None:
    few, many = stage.cases
    stage.items = [
        WorkItem("measure", few.group, (few,) * 12, needed_bytes=6 * 2**30),
        WorkItem("measure", many.group, (many,) * 57, needed_bytes=3 * 2**22),
    ]
    stage.run(fine, "a")
    assert [name for _, name in stage.pool.given] == [many.group, few.group]


def test_a_work_item_waits_for_the_worker_with_whom_all_end_sooner(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each case takes a second. If the largest item went first, the end would be at 143 s: one
    worker would take 78 + 37 + 28, the other 63 + 61."""
    clock = Clock()
    monkeypatch.setattr(sweep, "time", clock)
    stage.takes = lambda task: clock.at(clock.now + len(task.item.cases))
    stage.items = [
        WorkItem("measure", f"of {cases}", (stage.cases[0],) * cases)
        for cases in (78, 63, 61, 37, 28)
    ]
    stage.run(fine, "x", "y")
    shares = {m: sorted(p for to, p in stage.pool.given if to == m) for m in ("x", "y")}
    assert shares == {"x": ["of 61", "of 78"], "y": ["of 28", "of 37", "of 63"]}
    assert clock.now == pytest.approx(139, abs=1)


@pytest.mark.fault(
    "a piece that three workers die of",
    outcome="Its cases fail with the three reasons, and are tried again when the run is resumed; "
    "the rest goes on.",
)
def test_what_kills_three_workers_is_recorded_and_the_rest_goes_on(stage: Stage) -> None:
    bad, good = stage.cases

    def does(member: Member, task: Task) -> tuple[Sequence[Record], TaskResult | Exception]:
        if task.item.cases[0] is bad:
            return [], OSError("gone")
        return fine(member, task)

    stage.run(does, "a", "b")
    outcome = stage.outcomes[bad.id]
    assert outcome.status == "failed"
    assert outcome.again
    assert outcome.reason.startswith("its worker died 3 times: the worker host a: OSError: gone;")
    assert stage.outcomes[good.id].status == "ok"
    assert [name for _, name in stage.pool.given].count(bad.group) == 3


@pytest.mark.fault(
    "a card that is lost, has new memory errors or fails its A/A control",
    outcome="What it measured is measured anew elsewhere; the second time it gets no more work.",
)
def test_a_card_that_is_lost_twice_gets_no_more_work(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    def does(member: Member, task: Task) -> tuple[Sequence[Record], TaskResult | Exception]:
        if member.address == "a":
            return [], TaskResult(0, lost="uncorrectable ECC error encountered")
        return fine(member, task)

    stage.run(does, "a", "b")
    assert {o.status for o in stage.outcomes.values()} == {"ok"}
    assert [name for name, _ in stage.pool.given].count("a") <= 2
    assert "CONTROL 1 failed on host a: uncorrectable ECC" in capsys.readouterr().out


def test_when_every_card_is_faulty_the_run_stops_and_blames_no_case(stage: Stage) -> None:
    with pytest.raises(DeviceLost, match="off the bus"):
        stage.run(lambda member, task: ([], TaskResult(0, lost="off the bus")), "a")
    assert not stage.outcomes
    assert len(stage.pool.given) == 2


def test_what_a_card_with_new_memory_errors_measured_is_measured_anew_elsewhere(
    stage: Stage,
) -> None:
    def does(member: Member, task: Task) -> tuple[Sequence[Record], TaskResult | Exception]:
        records, done = fine(member, task)
        return records, TaskResult(0, done.said, fault="2 errors" if member.address == "a" else "")

    stage.run(does, "a", "b")
    renewed = [r for r in stage.book.records if isinstance(r, Renewed)]
    assert [r.what for r in renewed] == ["times"] * len(renewed)
    assert len(renewed) in (1, 2)
    assert renewed[0].reason == "the control on host a: 2 errors"
    last = {name: member for member, name in stage.pool.given}
    assert set(last.values()) == {"b"}  # no valid result is from that card


@pytest.mark.parametrize(("second", "redone"), [(1000.0, False), (1100.0, True)])
def test_a_card_on_which_equal_kernels_differ_is_not_believed(
    stage: Stage, second: float, redone: bool
) -> None:
    rng = np.random.default_rng(7)

    def rounds(case: Case, repeat_ns: float) -> list[Record]:
        return [
            Round(case.id, cache, number, repeat, (ns * (1 + 1e-4 * rng.standard_normal()),) * 4,
                  placement=placement)
            for placement in range(10) for number in range(3) for cache in ("cold", "warm")
            for repeat, ns in ((False, 1000.0), (True, repeat_ns))
        ]  # fmt: skip

    def does(member: Member, task: Task) -> tuple[Sequence[Record], TaskResult | Exception]:
        records, done = fine(member, task)
        ns = second if member.address == "a" else 1000.0
        return [*rounds(task.item.cases[0], ns), *records], done

    stage.run(does, "a", "b")
    assert any(isinstance(r, Renewed) for r in stage.book.records) == redone
    assert {o.status for o in stage.outcomes.values()} == {"ok"}


def test_a_card_that_another_run_holds_is_left_out(stage: Stage) -> None:
    def does(member: Member, task: Task) -> tuple[Sequence[Record], TaskResult | Exception]:
        if member.address == "a":
            return [], TaskResult(0, busy="another run is using this GPU")
        return fine(member, task)

    stage.run(does, "a", "b")
    assert {o.status for o in stage.outcomes.values()} == {"ok"}
    assert [name for name, _ in stage.pool.given].count("a") == 1


def test_a_run_whose_workers_are_all_gone_stops_and_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "ALONE_S", 0.05)
    with pytest.raises(ClusterLost, match="no worker with a a device is left"):
        stage.run(fine)
