"""A run: compile, qualify each variant alone, then measure those that pass together.

Every event becomes a record in the journal before the next step starts, so a run that dies can be
resumed, and a failure of one variant affects no other.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from harness.cases import Case, Device
from harness.console.progress import console
from harness.job import Job
from harness.journal.file import Journal, read_journal
from harness.journal.records import Finished, Planned, Record, Renewed
from harness.journal.superseded import current
from harness.machine import environment
from harness.matrix import model, plan
from harness.ncu import stage as profiling
from harness.ncu.failures import Failure
from harness.processes import host_memory
from harness.processes.workers import Workers, import_ahead
from harness.run import drawing, forecast, planning, staleness
from harness.run.compilation import Compilation, built_again, compile_all, described, to_compile
from harness.run.emulated import stage as emulation
from harness.run.emulated.earlier import EarlierResults
from harness.run.executor import Executor, LocalExecutor
from harness.run.journal_state import JournalState
from harness.run.measurement import NO_MEMORY
from harness.run.qualification import judge
from harness.run.task_runner import RunSettings, TaskRunner, WorkItem


class Runner:
    """One run into one folder. `failed` says afterwards whether any case failed.

    `patterns`: the cases of the folder, as --only patterns. `chosen`: the ids of the cases to work
    on; None for all. Results whose inputs have changed since are redone, and `renewed` lists the
    changes. `executor`: runs the work items; by default on this machine's cores and GPU. `driver`:
    the timing GPU's driver, if the GPU is in another machine. `wanted`: the options for profiling
    with ncu as well, if the backend is a GPU. Afterwards `unprofiled` has the reasons why profiling
    failed, `unread` the reason why the emulator counted instead, and `without_ceilings` the reason
    why the machine's limits were not measured. `matrix`: the matrix with all sizes, including those
    not chosen. `with_ceilings`: measure the machine's limits before anything is timed. `earlier`:
    for an emulated run, the results of earlier runs to reuse.
    """

    def __init__(
        self,
        bench: model.Bench,
        device: Device,
        backend: str,
        patterns: Sequence[str],
        folder: Path,
        wanted: profiling.ProfileOptions | None = None,
        executor: Executor | None = None,
        chosen: Collection[str] | None = None,
        driver: str | None = None,
        matrix: model.Bench | None = None,
        with_ceilings: bool = True,
        earlier: EarlierResults | None = None,
    ) -> None:
        self._with_ceilings, self._earlier = with_ceilings, earlier
        self.wanted, self.driver = wanted, driver or environment.driver()
        self._executor = executor or LocalExecutor(1)
        self.renewed: list[Renewed] = []
        self.unprofiled: list[Failure] = []
        self.unread: Failure | None = None
        self.without_ceilings = ""
        self.bench, self.device, self.backend, self.folder = bench, device, backend, folder
        self._matrix = matrix or bench
        self.plan = plan.resolve(bench, device, backend, patterns)
        self.problems, self.cases, self.tests = (
            self.plan.problems, self.plan.cases, self.plan.tests
        )  # fmt: skip
        ids = {case.id for case in self.cases}
        self._chosen = ids if chosen is None else ids.intersection(chosen)
        self.fresh = secrets.randbits(62) if backend != "emulator" else 0
        self._known = JournalState({case.id: case.group for case in self.cases})
        self._made = Compilation()
        setting = RunSettings(
            backend, device, bench.kernels, bench.limits, bench.timing, self.fresh
        )
        self.forecast = forecast.nothing()
        self._task_runner = TaskRunner(setting, self._known, {}, self.keep)

    @property
    def is_timed(self) -> bool:
        return self._task_runner.is_timed

    @property
    def workers(self) -> Workers:
        return self._task_runner.workers

    @property
    def chosen(self) -> list[Case]:
        """The cases to work on."""
        return [case for case in self.cases if case.id in self._chosen]

    @property
    def failed(self) -> bool:
        ended = (self._known.outcomes.get(case.id) for case in self.chosen)
        wrong = any(outcome is not None and outcome.status == "failed" for outcome in ended)
        return wrong or bool(self.unprofiled) or bool(self.without_ceilings)

    def run(self) -> None:
        """Do the whole run. On Ctrl-C every worker is stopped, and the journal keeps its
        records."""
        path = self.folder / "journal.jsonl"
        known = current(read_journal(path)) if path.exists() else []
        planned = self._as_planned()
        self.renewed = staleness.changes(
            planned, known, self._chosen, self._to_time(), self.bench.limits.model_dump()
        )
        with Journal(path) as self._journal:
            for change in self.renewed:
                self._journal.append(change)
            for record in current([*known, *self.renewed]):
                self._known.note(record)
            self._say_what_is_renewed()
            try:
                self._plan(planned)
                if self._earlier:
                    to_do = [self._known.planned[case.id] for case in self._open(self.cases)]
                    self._earlier.take_over(to_do, self.keep)
                import_ahead(self.backend, self._open(self.cases))
                self.forecast = self._foreseen()
                self.forecast.begin()
                with self._drawing() as self._task_runner.drawing:
                    with self.forecast.stage("compile"):
                        self._compile()
                    with self.forecast.stage("verify"):
                        self._qualify()
                    if self.is_timed:
                        with self.forecast.stage("prepare"):
                            self._prepare()
                        with self.forecast.stage("ceilings"):
                            self._measure_ceilings()
                        with self.forecast.stage("measure"):
                            self._measure()
                self._conclude()
                if self._earlier:
                    self._earlier.hand_on(path, self._as_planned)
                if self.wanted and self.is_timed:
                    with self.forecast.stage("profile"):
                        self._profile(self.wanted)
            finally:
                self.workers.stop()
                self._task_runner.let_go()

    def _foreseen(self) -> forecast.Forecast:
        """Forecast the remaining work; an empty forecast if other machines do it."""
        if not isinstance(self._executor, LocalExecutor):
            return forecast.nothing()
        to_do = self._open(self.cases)
        units = to_compile([*self._tests_of(to_do), *to_do], self.bench.kernels, self.device.arch)
        found = forecast.Forecast(
            forecast.steps(
                to_do, units, self.bench.timing if self.is_timed else None,
                len(self.chosen) if self.wanted and self.is_timed else 0,
                self._prepared_ahead() if self.is_timed else (),
                1.0 if self.is_timed or not to_do else forecast.pace(),
                lambda case: planning.elements_of(case, self.problems[case.problem]),
                self.bench.limits.measure_s,
            ),
            forecast.load(self._machine),
            dict.fromkeys(("compile", "verify", "prepare"), self._executor.cores),
            lambda line: console.print(line, markup=False),
        )  # fmt: skip
        self._task_runner.took = lambda item, seconds: found.took(
            "verify" if item.kind == "qualify" else item.kind, item.name, seconds
        )
        return found

    @property
    def _machine(self) -> str:
        """The key under which durations are remembered."""
        return f"{self.device.name}, {self.backend}"

    def end_forecast(self) -> None:
        """Report the run's duration at its end, and store it."""
        self.forecast.end()
        forecast.save(self._machine, self.forecast.durations)

    def keep(self, record: Record) -> None:
        self._journal.append(record)
        self._known.note(record)

    def _open(self, cases: Iterable[Case]) -> list[Case]:
        """The chosen cases that have no outcome yet."""
        return [c for c in cases if c.id in self._chosen and c.id not in self._known.outcomes]

    def _as_planned(self) -> list[Planned]:
        origins = staleness.Origins(
            self.bench, self.tests, self.device.arch, self.is_timed, self.driver
        )
        return planning.planned(
            self.bench, self.plan, origins, lambda case: not self._over_budget(case)
        )

    def _to_time(self) -> set[str]:
        """The chosen cases that will be timed unless they fail first."""
        if not self.is_timed:
            return set()
        return {case.id for case in self.chosen if not (case.skip or case.refusal)}

    def _say_what_is_renewed(self) -> None:
        if not self._known.outcomes and not self.renewed:
            return  # there are no results yet
        kept = sum(case in self._chosen for case in self._known.outcomes)
        for line in staleness.said(self.renewed, kept):
            console.print(line, markup=False)

    def _plan(self, planned: Sequence[Planned]) -> None:
        # Results of cases that are not chosen keep the origins that they had.
        now = [p if p.case in self._chosen else self._known.planned.get(p.case, p) for p in planned]
        if now != list(self._known.planned.values()):
            self._known.planned.clear()
            for each in now:
                self.keep(each)
            self.keep(Finished("plan"))
        for remark in planning.untested(self.plan, self._open(self.cases)):
            self.keep(remark)
        untested = self.plan.refused_tests()
        for case in self._open(self.cases):
            if case.skip:
                self._task_runner.finish(case, "skipped", case.skip, stage="plan")
            elif reason := (case.refusal or untested.get(case.shape)):
                self._task_runner.finish(case, "failed", reason, stage="plan")
            elif reason := planning.too_large(case, self.problems[case.problem], self.device):
                self._task_runner.finish(case, "skipped", f"{NO_MEMORY}: {reason}", stage="plan")

    def _over_budget(self, case: Case) -> str:
        return "" if self.is_timed else planning.over_budget(case, self.bench, self.plan)

    def _drawing(self) -> AbstractContextManager[drawing.Drawing | None]:
        """Generate data in advance, on some of this machine's cores, for the groups that are
        measured on this machine."""
        several = (
            self._executor.cores // drawing.CORES
            if isinstance(self._executor, LocalExecutor)
            else 0
        )
        if not (self.is_timed and several):
            return nullcontext()
        groups = drawing.groups(self._open(self.cases), self.problems)

        def job(case: Case, folder: Path) -> Job:
            return self._task_runner.job(
                "draw", cases=(case,), scratch=folder, most_bytes=found.bytes_of_one
            )

        found = drawing.Drawing(groups, job, several)
        return found

    def _tests_of(self, cases: Iterable[Case]) -> list[Case]:
        """The tests that verify these cases, if they can run on this machine."""
        shapes = {case.shape for case in cases}
        return [t for t in self.tests if t.shape in shapes and not t.skip and not t.refusal]

    def _compile(self) -> None:
        wanted = self._open(self.cases)
        self._made = compile_all(
            [*self._tests_of(wanted), *wanted], self.bench.kernels, self.device.arch,
            lists=not self.is_timed,
        )  # fmt: skip
        self._task_runner.built.update(self._made.built)
        for case in wanted:
            if case.shape in self._made.refused:
                again = case.shape in self._made.stopped
                refused = self._made.refused[case.shape]
                self._task_runner.finish(case, "failed", refused, again, stage="compile")
            elif case.kind == "kernel":
                made, refusal = described(case, self._made.built[case.id], self.device)
                for record in made:
                    self.keep(record)
                if refusal:
                    self._task_runner.finish(case, "failed", refusal, stage="plan")

    def _qualify(self) -> None:
        """Qualify each variant on its own, several at a time, because nothing is timed yet."""
        by_variant: dict[tuple[str, str], list[Case]] = defaultdict(list)
        for case in self._open(self.cases):
            if not case.is_library and not self._is_qualified(case):
                by_variant[case.problem, case.variant].append(case)
        tests = [test for test in self.tests if test.id in self._made.ready]
        self._executor.carry_out("verify", self._task_runner, [
            WorkItem("qualify", "/".join(name), tuple(cases), _of_shapes(tests, cases),
                  {case.id: why for case in cases if (why := self._over_budget(case))})
            for name, cases in by_variant.items()
        ])  # fmt: skip

    def _is_qualified(self, case: Case) -> bool:
        """Return whether, according to the journal, all tests of the case were correct.

        On the emulator such a case already has its outcome, unless the journal lost it.
        """
        if not self.is_timed or f"qualify {case.problem}/{case.variant}" not in self._known.stages:
            return False
        tests = [t for t in self.tests if t.id in self._made.ready and t.shape == case.shape]
        judged = judge([case], tests, (), self._known.verified[case.shape])
        return not judged.wrong and not judged.unfinished

    def _measure_ceilings(self) -> None:
        if not self._with_ceilings or self._known.ceilings or not self._open(self.cases):
            return
        item = WorkItem("ceilings", "ceilings")
        self.without_ceilings = self._executor.carry_out("ceilings", self._task_runner, [item])[
            item.name
        ]

    def _prepare(self) -> None:
        """Prepare small groups, several at a time, because nothing is timed yet."""
        ahead = self._prepared_ahead()
        items = [replace(i, kind="prepare") for i in self._measurements() if i.name in ahead]
        if items:
            self._executor.carry_out("prepare", self._task_runner, items)

    def _prepared_ahead(self) -> set[str]:
        """The groups that are prepared before the first is timed, on this machine's cores."""
        if not isinstance(self._executor, LocalExecutor):
            return set()
        return planning.prepared_ahead(
            self._measurements(), self._executor.cores, host_memory.available()
        )

    def _measurements(self) -> list[WorkItem]:
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in self._open(self.cases):
            groups[case.group].append(case)
        return [
            WorkItem("measure", name, tuple(cases), baseline=self._baseline(cases[0]),
                  needed_bytes=4 * planning.bytes_of(cases[0], self.problems[cases[0].problem]))
            for name, cases in groups.items()
        ]  # fmt: skip

    def _measure(self) -> None:
        self._executor.carry_out("measure", self._task_runner, self._measurements())

    def _baseline(self, case: Case) -> str:
        return self.bench.problems[case.problem].baseline

    def _conclude(self) -> None:
        for case in self._open(self.cases):
            self._task_runner.finish(
                case, "failed", "it ended without an outcome; run again to resume", True
            )

    def _profile(self, wanted: profiling.ProfileOptions) -> None:
        """Collect ncu's counters for every correct case; a resumed run has compiled none of
        them."""
        sound = [case for case in self.chosen if self._known.outcomes[case.id].status == "ok"]
        again = built_again(sound, self.bench.kernels, self.device.arch)
        self._task_runner.built.update(again)
        self.unprofiled = profiling.profile(
            wanted, sound, lambda cases: self._task_runner.job("profile", cases=cases), self.folder,
            self.bench.limits.measure_s, self._known.counts, self.keep,
        )  # fmt: skip
        self.unread = next((failure for failure in self.unprofiled if failure.hopeless), None)
        if self.unread and not self._known.is_read:
            self._count_in_the_emulator(sound)

    def _count_in_the_emulator(self, sound: Sequence[Case]) -> None:
        """Count the kernels in the emulator if ncu is not permitted to read counters. If every
        kernel gets counters in this way, none are reported missing."""
        emulation.count(
            emulation.TimedRun(
                self._task_runner.setting, self._matrix, self.problems, self._executor, self._known,
                self.workers, self.keep,
            ),
            sound,
        )  # fmt: skip
        kernels = [case for case in sound if case.kind == "kernel"]
        if all(self._known.is_emulated(case.id) for case in kernels) and not self._names_no_ncu:
            self.unprofiled = [failure for failure in self.unprofiled if not failure.hopeless]

    @property
    def _names_no_ncu(self) -> bool:
        """Return whether the command line names an ncu; if that ncu does not work, the command is
        wrong."""
        return bool(self.wanted and self.wanted.ncu and self.unread and self.unread.is_absent)


def _of_shapes(tests: Iterable[Case], cases: Iterable[Case]) -> tuple[Case, ...]:
    """The tests at the launch shapes of the cases."""
    shapes = {case.shape for case in cases}
    return tuple(test for test in tests if test.shape in shapes)
