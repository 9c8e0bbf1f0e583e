"""The stage of a run that counts its timed cases in the emulator, in two waves.

The first wave counts the sizes that a run without a GPU would count, and the stand-ins of larger
sizes. The work of the stand-ins predicts how close the second wave can come to the larger sizes.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.cases import Case
from harness.errors import HarnessError
from harness.journal.counter_records import Counted, Emulated
from harness.journal.records import Record, times_the_work
from harness.matrix import model, plan
from harness.problem import Problem, Work
from harness.processes import host_memory
from harness.processes.slots import Slots, on_this_machine
from harness.processes.workers import Workers
from harness.run.compilation import compile_all
from harness.run.emulated import sizes as size_rules
from harness.run.emulated.counting import emulated
from harness.run.executor import Executor
from harness.run.journal_state import JournalState
from harness.run.surroundings import Keep
from harness.run.task_runner import RunSettings, TaskRunner, WorkItem
from harness.silicon.architectures import is_known

EXECUTED = "smsp__thread_inst_executed.sum"

ANOTHER_SHAPE = "only the fastest and the slowest launch shape are counted at a larger size"
"""The reason for not counting a variant's other launch shapes: the fastest and the slowest explain
the times."""

NO_SIZE = (
    "no size of the matrix is small enough to be emulated: one within limits.emulate_bytes and "
    "emulate_flops, under sizes.bench, stands for the larger ones"
)


@dataclass(frozen=True)
class TimedRun:
    """The parts of the run that the stage needs. `matrix`: the matrix with all sizes, not only the
    chosen ones."""

    setting: RunSettings
    matrix: model.Bench
    problems: Mapping[str, Problem]
    executor: Executor
    known: JournalState
    workers: Workers
    keep: Keep


def count(run: TimedRun, sound: Iterable[Case]) -> None:
    """Count every case that has no counters yet; if a case cannot be counted, record the reason."""
    kernels = [c for c in sound if c.kind == "kernel"]
    if why := _impossible(run.setting):
        for case in kernels:
            if not run.known.is_emulated(case.id):
                run.keep(emulated(case, None, None, why))
        return
    Stage(run, kernels).carry_out()


def _impossible(setting: RunSettings) -> str:
    device = setting.device
    if not device.runs_machine_code:
        return (
            f"the card runs what its driver makes of PTX for {device.arch}, "
            "which the emulator does not have"
        )
    if not is_known(device.arch):
        return f"the emulator knows nothing of the architecture {device.arch}"
    return ""


@dataclass
class _Held:
    """Holds back a group's records until it is known whether all its cases could be counted.

    `open`: group → its cases that are being counted. `settle`: called once a group has no more
    cases.
    """

    open: dict[str, set[str]]
    settle: Callable[[str], None]
    records: dict[str, list[Record]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, record: Record) -> None:
        with self._lock:
            self.records[getattr(record, "case", "")].append(record)
            if isinstance(record, Emulated):
                self.close(record.case)

    def close(self, *cases: str) -> None:
        """Record that nothing more will be recorded for these cases."""
        for group, left in list(self.open.items()):
            left.difference_update(cases)
            if not left:
                del self.open[group]
                self.settle(group)


@dataclass(frozen=True)
class _Near:
    """The cases of one group that are counted at or near their own size. `cases`: timed case →
    counted case.

    `why`: the reason for not counting at the timed size. `cases` is empty if no size is quick
    enough.
    """

    cases: dict[str, Case]
    why: str


class Stage:
    """The timed cases of a run, some of which may have been counted before."""

    def __init__(self, run: TimedRun, kernels: Sequence[Case]) -> None:
        self._run = run
        self._works: dict[str, Work] = {}
        self._stand_ins: dict[str, Case | str] = {}
        """Timed case → the smaller one that is counted for it, or why there is none."""
        setting = replace(
            run.setting, backend="emulator", fresh=0, device=replace(run.setting.device, room=None)
        )
        self._task_runner = TaskRunner(setting, run.known, {}, run.keep)
        self._task_runner.workers = run.workers
        self._explaining = self._explaining_of(kernels)
        self._left = [case for case in kernels if self._is_left(case)]
        for case in self._left:
            self._work(case)

    def _is_left(self, case: Case) -> bool:
        """Return whether a case still lacks its own counters: it has none, or it is now its
        variant's fastest or slowest and has only those of a stand-in."""
        found = self._run.known.emulated.get(case.id)
        if found is None or not found.counted:
            return True
        return found.reason == ANOTHER_SHAPE and case.id in self._explaining

    def _explaining_of(self, kernels: Sequence[Case]) -> set[str]:
        """Each variant's fastest and slowest launch shape at every size."""
        timings, wanted = self._task_runner.timings(kernels), set[str]()
        for group, planned in timings.groups.items():
            for variant in dict.fromkeys(p.variant for p in planned):
                found = timings.shape(group, variant), timings.slowest(group, variant)
                wanted |= {p.case for p in found if p}
        return wanted

    def carry_out(self) -> None:
        own = [c for c in self._left if self._is_within(c)]
        large = [c for c in self._left if not self._is_within(c)]
        self._stand_ins = {case.id: self._stand_in(case) for case in large}
        own += [c for c in large if c == self._stand_ins[c.id]]
        large = [c for c in large if c not in own]
        instead = [c for c in self._stand_ins.values() if isinstance(c, Case)]
        for case in instead:
            self._work(case)
        self._compile([*own, *large, *instead])
        self._first_wave(own, large)
        self._second_wave(large)

    # Which size

    def _is_within(self, case: Case) -> bool:
        return size_rules.is_within(self._work(case), self._run.setting.limits)

    def _work(self, case: Case) -> Work:
        if case.group not in self._works:
            problem = self._run.problems[case.problem]
            self._works[case.group] = problem.work(case.sizes, case.dtype)
        return self._works[case.group]

    def _stand_in(self, case: Case) -> Case | str:
        """The case with the same variant and launch shape at the size that is counted instead, or
        why there is none."""
        problem = self._run.problems[case.problem]
        every = self._run.matrix.problems[case.problem].sizes.bench
        works = [(size, problem.work(size, case.dtype)) for size in every]
        found = size_rules.stand_in(case.sizes, works, self._run.setting.limits)
        if found is None:
            return NO_SIZE
        there = plan.cases_at(self._run.matrix, self._run.setting.device, case.problem, [found])
        for each in there:
            if each.shape == case.shape:
                why = each.skip or each.refusal
                return f"at {_text(found)}: {why}" if why else each
        return f"the matrix does not have it at {_text(found)}"

    # What is counted

    def _compile(self, cases: Iterable[Case]) -> None:
        """Compile everything that was timed, from the cache; drop stand-ins with different code."""
        setting = self._run.setting
        wanted = {c.id: c for c in cases}.values()
        made = compile_all(wanted, setting.kernels, setting.device.arch, lists=True)
        self._task_runner.built.update(made.built)
        for name, case in self._stand_ins.items():
            if isinstance(case, Case):
                mine, its = made.built.get(name), made.built.get(case.id)
                if mine is None or its is None or mine.cubin_sha256 != its.cubin_sha256:
                    self._stand_ins[name] = f"at {_text(case.sizes)} it is other machine code"

    def _first_wave(self, own: Sequence[Case], large: Sequence[Case]) -> None:
        instead = [c for c in self._stand_ins.values() if isinstance(c, Case)]
        known = self._run.known
        self._count("emulate", [
            c for c in {c.id: c for c in (*own, *instead)}.values()
            if c.id in self._task_runner.built and not known.is_emulated(c.id)
        ], self._run.keep)  # fmt: skip
        for case in large:
            if isinstance(lacking := self._stand_ins[case.id], str):
                self._run.keep(emulated(case, None, None, lacking))

    def _second_wave(self, large: Sequence[Case]) -> None:
        """Count each group at its own size, or the nearest one that is quick enough, either
        completely or not at all."""
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in large:
            if self._counted_instead(case):
                groups[case.group].append(case)
            elif isinstance(instead := self._stand_ins[case.id], Case):
                failed = self._run.known.emulated.get(instead.id)
                why = failed.reason if failed else "it was interrupted"
                self._run.keep(emulated(case, None, None, f"at {_text(instead.sizes)}: {why}"))
        near = {name: self._near_or_not(cases) for name, cases in groups.items()}
        wanted = {at.id: at for each in near.values() for at in each.cases.values()}
        self._compile_near(near.values(), wanted.values())
        quick = [at for each in near.values() for at in each.cases.values()]
        open_ = {at.id: at for at in quick if not self._run.known.is_emulated(at.id)}
        held = _Held(
            {name: {at.id for at in each.cases.values()} for name, each in near.items()},
            lambda name: self._settle(groups[name], near[name], held.records),
        )  # fmt: skip
        held.close(*(wanted.keys() - open_.keys()))
        self._task_runner.slots = self._slots_for(list(open_.values()))
        self._count("emulate more", list(open_.values()), held.keep)
        held.close(*open_)

    def _near_or_not(self, cases: Sequence[Case]) -> _Near:
        """Return the result of `_near`; empty if the problem rejects a size that is not in the
        matrix."""
        try:
            return self._near(cases)
        except HarnessError as error:
            return _Near({}, str(error).splitlines()[0])

    def _near(self, cases: Sequence[Case]) -> _Near:
        """The largest size, no larger than the group's own, that is quick enough to count.

        If other cases of the group were counted before, their size is used.
        """
        cases = [case for case in cases if case.id in self._explaining]
        if not cases:
            return _Near({}, "")
        first, why = cases[0], ""
        if before := self._settled(first.group):
            return self._at(cases, before.sizes, before.reason)

        def work(sizes: size_rules.Sizes) -> Work:
            return self._run.problems[first.problem].work(dict(sizes), first.dtype)

        for sizes in size_rules.smaller(first.sizes, work, self._run.setting.limits):
            at = {case.id: replace(case, sizes=dict(sizes)) for case in cases}
            slow = self._too_slow(cases, at)
            why = why or slow
            if not slow:
                return self._at(cases, sizes, why)
        return _Near({}, why)

    def _settled(self, group: str) -> Emulated | None:
        """The case at the largest size among the group's cases that were counted before."""
        planned = self._run.known.planned
        found = [
            e for e in self._run.known.emulated.values()
            if e.counted and e.case in planned and planned[e.case].group == group
        ]  # fmt: skip
        return max(found, key=lambda e: (e.bytes, e.flops), default=None)

    def _at(self, cases: Sequence[Case], sizes: size_rules.Sizes, why: str) -> _Near:
        if dict(sizes) == cases[0].sizes:
            return _Near({case.id: case for case in cases}, "")
        return _Near(self._planned_at(cases, sizes), why)

    def _planned_at(self, cases: Sequence[Case], sizes: size_rules.Sizes) -> dict[str, Case]:
        """Timed case → the same case at a size that is not in the matrix; empty if the matrix
        rejects any of them."""
        device, problem = self._run.setting.device, cases[0].problem
        there = plan.cases_at(self._run.matrix, device, problem, [sizes])
        by_shape = {c.shape: c for c in there if not (c.skip or c.refusal)}
        if any(case.shape not in by_shape for case in cases):
            return {}
        return {case.id: by_shape[case.shape] for case in cases}

    def _compile_near(self, near: Iterable[_Near], cases: Iterable[Case]) -> None:
        """Compile from the cache; if a case has different machine code, drop its group's nearer
        size."""
        setting, built = self._run.setting, self._task_runner.built
        new = [case for case in cases if case.id not in built]
        if new:
            built.update(compile_all(new, setting.kernels, setting.device.arch).built)
        for each in near:
            for name, at in each.cases.items():
                if at.id not in built or built[at.id].cubin_sha256 != built[name].cubin_sha256:
                    each.cases.clear()
                    break

    def _settle(
        self, cases: Sequence[Case], near: _Near, told: Mapping[str, Sequence[Record]]
    ) -> None:
        """Keep the counts made near the timed size; the other cases are represented by their
        stand-ins."""
        at = near.cases
        why, failed = near.why, self._failure(at.values(), told)
        for case in cases:
            instead = self._stand_ins[case.id]
            assert isinstance(instead, Case)
            if case.id in at and not failed:
                for record in told.get(at[case.id].id, ()):
                    self._run.keep(record)
                if at[case.id] != case:
                    it = at[case.id]
                    self._run.keep(emulated(case, it, self._work(it), why))
            else:
                reason = failed or (ANOTHER_SHAPE if at else why)
                self._run.keep(emulated(case, instead, self._work(instead), reason))

    def _failure(self, cases: Iterable[Case], told: Mapping[str, Sequence[Record]]) -> str:
        """The reason why cases with a counted stand-in were not counted at their own size; empty if
        all were."""
        for case in cases:
            ends = [r for r in told.get(case.id, ()) if isinstance(r, Emulated)]
            if not self._run.known.is_emulated(case.id) and not (ends and ends[-1].counted):
                why = ends[-1].reason.splitlines()[0] if ends else "it was interrupted"
                return f"at {_text(case.sizes)} {case.variant} was not counted: {why}"
        return ""

    def _counted_instead(self, case: Case) -> bool:
        instead = self._stand_ins[case.id]
        return isinstance(instead, Case) and self._run.known.is_emulated(instead.id)

    def _too_slow(self, cases: Sequence[Case], at: Mapping[str, Case]) -> str:
        """The reason why a group is counted neither at its own size nor at another; empty if it is
        counted."""
        took: dict[str, float] = defaultdict(float)
        for case in cases:
            instead = self._stand_ins[case.id]
            assert isinstance(instead, Case)
            times = times_the_work(self._work(at[case.id]), self._work(instead))
            took[case.variant] += size_rules.seconds(self._executed(instead), times)
        variant = max(took, key=lambda name: took[name])
        if took[variant] > size_rules.SECONDS:
            return f"at its own size {variant} would take about {took[variant]:,.0f} s to emulate"
        needed, available = self._footprint(at[cases[0].id]), host_memory.available()
        if available is not None and needed > available:
            return (
                f"at its own size it would take {needed / 2**30:.0f} GiB of the machine's memory, "
                f"of which {available / 2**30:.0f} are free"
            )
        return ""

    def _executed(self, case: Case) -> float:
        return sum(
            r.value for r in self._run.known.counts
            if isinstance(r, Counted) and r.case == case.id and r.metric == EXECUTED
        )  # fmt: skip

    def _footprint(self, case: Case) -> int:
        buffers = self._run.problems[case.problem].buffers(case.sizes, case.dtype)
        return size_rules.FOOTPRINT * sum(buffer.nbytes for buffer in buffers)

    def _slots_for(self, cases: Sequence[Case]) -> Slots:
        available = host_memory.available()
        if available is None or not cases:
            return on_this_machine(self._task_runner.setting.device)
        return Slots(max(1, available // max(map(self._footprint, cases))))

    def _count(self, title: str, cases: Sequence[Case], keep: Keep) -> None:
        if not cases:
            return
        by_variant: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
        for case in cases:
            by_variant[case.problem, case.variant, case.group].append(case)
        self._task_runner.hand_to(keep)
        self._run.executor.carry_out(title, self._task_runner, [
            WorkItem("count", f"{problem}/{variant} {_text(each[0].sizes)}", tuple(each),
                  works={case.group: self._work(case) for case in each})
            for (problem, variant, _), each in by_variant.items()
        ])  # fmt: skip


def _text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in sizes.items())
