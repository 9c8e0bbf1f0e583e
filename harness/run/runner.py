"""A run: compile, qualify each variant alone, then measure the survivors together.

Everything that happens becomes a record in the journal before the next thing starts, so a run that
dies can be resumed, and whatever goes wrong with one variant is a line about that variant.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import problem as problems
from harness.backends.base import Execution
from harness.backends.emulated import EmulatorBackend
from harness.backends.machine_code import MachineCodeWorkspace, both, in_ptx_alone
from harness.build import compile as compiler
from harness.cases import Case, Device
from harness.current import current
from harness.errors import DeviceLost
from harness.job import Job
from harness.journal import Journal, read_journal
from harness.matrix import model, plan
from harness.measure.ceilings import PROBED
from harness.measure.timings import Timings, placements_that_choose
from harness.ncu import stage as profiling
from harness.ncu.failures import Failure
from harness.progress import console, stage
from harness.records import Finished, Outcome, Planned, Record, Renewed
from harness.run import machine, renewal
from harness.run.compilation import Compilation, built_again, compile_all, described
from harness.run.cores import Cores
from harness.run.inputs import Inputs
from harness.run.known import Known
from harness.run.measurement import NO_MEMORY, Effort, Measurement
from harness.run.processes import Ended, Workers
from harness.run.qualification import Qualification, judge

CEILINGS_S = 120
"""Deadline for measuring the machine's ceilings."""

DESCRIBE_S = 120
"""Deadline for a device to say what it is."""


class Runner:
    """One run into one folder. `failed` tells afterwards whether any case failed.

    patterns: the cases of the folder, as --only has them. chosen: the ids of those that are worked
    on; None for all. What changed since the folder's results were made is done anew, and `renewed`
    tells what that was.
    jobs: cores that the workers and their emulated launches share.
    wanted: profile with ncu as well, where the backend is a GPU; `unprofiled` tells afterwards what
    went wrong with that, and `without_ceilings` why the machine's limits were not measured.
    """

    def __init__(
        self,
        bench: model.Bench,
        device: Device,
        backend: str,
        patterns: Sequence[str],
        folder: Path,
        wanted: profiling.Wanted | None = None,
        jobs: int = 1,
        chosen: Collection[str] | None = None,
    ) -> None:
        self.wanted, self.cores = wanted, Cores(jobs)
        self.renewed: list[Renewed] = []
        self.unprofiled: list[Failure] = []
        self.without_ceilings = ""
        self.bench, self.device, self.backend, self.folder = bench, device, backend, folder
        self.workers = Workers()
        self.plan = plan.resolve(bench, device, backend, patterns)
        self.problems, self.cases, self.tests = (
            self.plan.problems, self.plan.cases, self.plan.tests
        )  # fmt: skip
        ids = {case.id for case in self.cases}
        self._chosen = ids if chosen is None else ids.intersection(chosen)
        self.fresh = secrets.randbits(62) if backend != "emulator" else 0
        self._known = Known({case.id: case.group for case in self.cases})
        self._made = Compilation()

    @property
    def is_timed(self) -> bool:
        """Whether the backend tells the time."""
        return self.backend != "emulator"

    @property
    def chosen(self) -> list[Case]:
        """The cases that are worked on."""
        return [case for case in self.cases if case.id in self._chosen]

    @property
    def failed(self) -> bool:
        ended = (self._known.outcomes.get(case.id) for case in self.chosen)
        wrong = any(outcome is not None and outcome.status == "failed" for outcome in ended)
        return wrong or bool(self.unprofiled) or bool(self.without_ceilings)

    def run(self) -> None:
        """The whole run. On Ctrl-C every worker is stopped and the journal keeps what it has."""
        path = self.folder / "journal.jsonl"
        known = current(read_journal(path)) if path.exists() else []
        planned = self._as_planned()
        self.renewed = renewal.changes(
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
                self._compile()
                self._qualify()
                if self.is_timed:
                    self._measure_ceilings()
                    self._measure()
                self._conclude()
                if self.wanted and self.is_timed:
                    self._profile(self.wanted)
            finally:
                self.workers.stop()

    def keep(self, record: Record) -> None:
        self._journal.append(record)
        self._known.note(record)

    def _open(self, cases: Iterable[Case]) -> list[Case]:
        """The cases to be worked on that have not ended."""
        return [c for c in cases if c.id in self._chosen and c.id not in self._known.outcomes]

    def _as_planned(self) -> list[Planned]:
        driver = machine.driver() if self.is_timed else None
        origins = renewal.Origins(self.bench, self.tests, self.device.arch, self.is_timed, driver)
        return [
            Planned(
                case.id, case.problem, case.variant, case.dtype, case.sizes, case.launch,
                self.plan.works[case.group].bytes, self.plan.works[case.group].flops,
                case.variant == self.bench.problems[case.problem].baseline, case.is_library,
                tuple(step.kernel for step in case.steps), case.builds_on,
                origins.of(case, counted=not self.over_budget(case)), self._expected(case),
            )
            for case in self.cases
        ]  # fmt: skip

    def _expected(self, case: Case) -> dict[str, str]:
        """The budgets of the case's variant; a library has none."""
        variant = self.bench.problems[case.problem].variants.get(case.variant)
        return {name: str(budget) for name, budget in variant.expect.items()} if variant else {}

    def _to_time(self) -> set[str]:
        """The chosen cases that a clock is held to, unless they fail before."""
        if not self.is_timed:
            return set()
        return {case.id for case in self.chosen if not (case.skip or case.refusal)}

    def _say_what_is_renewed(self) -> None:
        if not self._known.outcomes and not self.renewed:
            return  # nothing is there yet
        kept = sum(case in self._chosen for case in self._known.outcomes)
        for line in renewal.said(self.renewed, kept):
            console.print(line, markup=False)

    def _plan(self, planned: Sequence[Planned]) -> None:
        # Of cases that are not worked on, what is there still comes from what it came from.
        now = [p if p.case in self._chosen else self._known.planned.get(p.case, p) for p in planned]
        if now != list(self._known.planned.values()):
            self._known.planned.clear()
            for each in now:
                self.keep(each)
            self.keep(Finished("plan"))
        untested = self.plan.refused_tests()
        for case in self._open(self.cases):
            if case.skip:
                self.finish(case, "skipped", case.skip)
            elif reason := (case.refusal or untested.get(case.shape)):
                self.finish(case, "failed", reason)
            elif reason := self._too_large(case):
                self.finish(case, "skipped", f"{NO_MEMORY}: {reason}")

    def _too_large(self, case: Case) -> str:
        """Why the case's buffers cannot be held, or nothing."""
        needed = sum(b.nbytes for b in self.problems[case.problem].buffers(case.sizes, case.dtype))
        if needed <= self.device.memory_bytes:
            return ""
        return (
            f"its buffers take {needed / 2**30:.1f} GiB; {self.device.name} has "
            f"{self.device.memory_bytes / 2**30:.1f} GiB\n  remove the size from bench.yaml"
        )

    def over_budget(self, case: Case) -> str:
        """Why the emulator does not count the case, or nothing."""
        if self.is_timed:
            return ""
        limits, work = self.bench.limits, self.plan.works[case.group]
        uncounted = "verified at the test sizes, but not counted:"
        if work.bytes > limits.emulate_bytes:
            return (
                f"{uncounted} {work.bytes / 2**20:.0f} MiB of compulsory traffic exceeds "
                f"limits.emulate_bytes, {limits.emulate_bytes / 2**20:.0f} MiB"
            )
        if work.flops > limits.emulate_flops:
            return (
                f"{uncounted} {work.flops:,} floating-point operations exceed "
                f"limits.emulate_flops, {limits.emulate_flops:,}"
            )
        return ""

    def _compile(self) -> None:
        wanted = self._open(self.cases)
        shapes = {case.shape for case in wanted}
        tests = [t for t in self.tests if t.shape in shapes and not t.skip and not t.refusal]
        self._made = compile_all([*tests, *wanted], self.bench.kernels, self.device.arch)
        for case in wanted:
            if case.shape in self._made.refused:
                again = case.shape in self._made.stopped
                self.finish(case, "failed", self._made.refused[case.shape], again)
            elif case.kind == "kernel":
                made, refusal = described(case, self._made.built[case.id], self.device)
                for record in made:
                    self.keep(record)
                if refusal:
                    self.finish(case, "failed", refusal)

    def _qualify(self) -> None:
        """Each variant alone, several at a time: nothing is timed here."""
        by_variant: dict[tuple[str, str], list[Case]] = defaultdict(list)
        for case in self._open(self.cases):
            if not case.is_library and not self._is_qualified(case):
                by_variant[case.problem, case.variant].append(case)
        with (
            stage("verify", len(by_variant)) as advance,
            ThreadPoolExecutor(max_workers=self.cores.total) as pool,
        ):
            self.cores.expect(len(by_variant))
            try:
                pending = {
                    pool.submit(self._on_some_cores, cases): "/".join(name)
                    for name, cases in by_variant.items()
                }
                for future in as_completed(pending):
                    advance(f"{pending[future]}  {future.result()}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.workers.stop()
                raise

    def _is_qualified(self, case: Case) -> bool:
        """Whether the journal says that all of its tests were right.

        On the emulator a case of which that is so has its outcome, unless the journal lost it.
        """
        if not self.is_timed or f"qualify {case.problem}/{case.variant}" not in self._known.stages:
            return False
        tests = [t for t in self.tests if t.id in self._made.ready and t.shape == case.shape]
        judged = judge([case], tests, (), self._known.verified[case.shape])
        return not judged.wrong and not judged.unfinished

    def _on_some_cores(self, cases: Sequence[Case]) -> str:
        with self.cores.some() as cores:
            return self._qualify_variant(cases, cores)

    def _qualify_variant(self, cases: Sequence[Case], cores: int) -> str:
        tests = [test for test in self.tests if test.id in self._made.ready]
        return Qualification(self, cases, tests, cores).carry_out()

    def _measure_ceilings(self) -> None:
        if self._known.ceilings or not self._open(self.cases):
            return
        with stage("ceilings", 1) as advance:
            ended = self._with_the_device(self.job("ceilings"), CEILINGS_S, self.keep)
            self.without_ceilings = ended.reason
            advance(ended.reason or "measured")

    def _measure(self) -> None:
        """One group at a time."""
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in self._open(self.cases):
            groups[case.group].append(case)
        with stage("measure", len(groups)) as advance:
            for name, cases in groups.items():
                first, timing = cases[0], self.bench.timing
                problem = self.problems[first.problem]
                buffers = problem.buffers(first.sizes, first.dtype)
                known = self._known.planned
                planned = [known[case.id] for case in self.cases if case.group == name]
                effort = Effort(
                    timing.looks, placements_that_choose(planned, timing.choosing),
                    timing.rounds_per_placement, timing.batch,
                    timing.interval, self.bench.limits.measure_s,
                )  # fmt: skip
                Measurement(
                    self, cases, self.bench.problems[first.problem].baseline, effort,
                    self._known.next_placement[name], 3 * sum(b.nbytes for b in buffers),
                ).carry_out()  # fmt: skip
                advance(f"{name}  {len(cases)} cases")

    # What a qualification and a measurement need of the run

    def qualify(self, job: Job, keep: Callable[[Record], None]) -> Ended:
        return self._with_the_device(job, self.bench.limits.qualify_s, keep)

    @property
    def is_stopped(self) -> bool:
        return self.workers.stopped

    def do(self, job: Job) -> Ended:
        return self._with_the_device(job, self.bench.limits.launch_s, self.keep)

    def _with_the_device(
        self, job: Job, deadline_s: float, keep: Callable[[Record], None]
    ) -> Ended:
        """Do a job. Raises DeviceLost where it ended because the GPU is at fault, and no case.

        A GPU that falls off its bus may look like a fault or an endless loop of whatever ran on it
        just then; so before anybody is blamed, it is asked whether it is still there.
        """
        ended = self.workers.do(job, deadline_s, keep)
        if not ended.reason or not self.is_timed or self.workers.stopped:
            return ended
        if ended.lost:
            raise DeviceLost(ended.reason)
        if not (ended.killed or ended.no_memory):
            asked = self.workers.do(self.job("describe"), DESCRIBE_S)
            if asked.reason and not self.workers.stopped:
                raise DeviceLost(f"{asked.reason} (after {ended.at or job.task}: {ended.reason})")
        return ended

    def expect_more(self) -> None:
        self.workers.expect_more()

    def is_open(self, case: Case) -> bool:
        return case.id not in self._known.outcomes

    def timings(self, cases: Sequence[Case]) -> Timings:
        """What the rounds of these cases say so far."""
        return self._known.timings(cases, timing_of(self.bench))

    def finish(
        self, case: Case, status: str, reason: str = "", again: bool = False,
        limits: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """again, limits: when a resumed run is to do it anew; see Outcome."""
        values = {name: float(getattr(self.bench.limits, name)) for name in limits}
        self.keep(Outcome(case.id, status, reason, again, values))  # type: ignore[arg-type]

    def _conclude(self) -> None:
        for case in self._open(self.cases):
            self.finish(case, "failed", "it ended without an outcome; run again to resume", True)

    def _profile(self, wanted: profiling.Wanted) -> None:
        """What ncu counts, of every case that is right; a resumed run compiled none of them."""
        sound = [case for case in self.chosen if self._known.outcomes[case.id].status == "ok"]
        again = built_again(sound, self.bench.kernels, self.device.arch)
        self._made.built.update(again)
        self.unprofiled = profiling.profile(
            wanted, sound, lambda cases: self.job("profile", cases=cases), self.folder,
            self.bench.limits.measure_s, self._known.counts, self.keep,
        )  # fmt: skip

    def job(self, task: str, **more: object) -> Job:
        """A worker's job on these cases, with what was compiled for them."""
        job = Job(
            task=task,  # type: ignore[arg-type]
            backend=self.backend,
            arch=self.device.arch,
            kernels=self.bench.kernels,
            seed=self.bench.timing.seed,
            fresh=self.fresh,
            flush=self.bench.timing.flush,
            probes=tuple(c.case for c in self._known.ceilings.values() if c.name in PROBED),
        )
        job = replace(job, **more)  # type: ignore[arg-type]
        used = {case.id for case in (*job.tests, *job.cases)}
        return replace(job, built={k: b for k, b in self._made.built.items() if k in used})


def timing_of(bench: model.Bench) -> dict[str, Any]:
    """How it was measured, for run.json and for whoever reads the rounds."""
    timing = bench.timing
    return {**timing.model_dump(mode="json"), "looks": len(timing.looks)}


def emulate(bench: model.Bench, case: Case, arch: str, jobs: int = 1) -> Execution:
    """One case executed once on the emulator, in this process, from PTX and from machine code."""
    ptx, machine = by_front_end(bench, case, arch, jobs)
    if ptx.faults:
        return ptx
    return in_ptx_alone(ptx) if isinstance(machine, str) else both(ptx, machine)


def by_front_end(
    bench: model.Bench, case: Case, arch: str, jobs: int = 1
) -> tuple[Execution, Execution | str]:
    """What a case's PTX comes to, and its machine code, or why that was not executed."""
    problem = problems.load(bench.kernels / case.problem)
    built = compiler.build(compiler.unit(case, bench.kernels, arch))
    inputs = Inputs(problem, case, bench.timing.seed, 0)
    buffers = problem.buffers(case.sizes, case.dtype)
    with (
        EmulatorBackend(arch, jobs).workspace(problem, buffers, inputs.values) as ptx,
        MachineCodeWorkspace(buffers, inputs.values) as machine,
    ):
        found = ptx.run(case, built)
        if found.faults:
            return found, "its PTX has a fault"
        refusal = machine.refusal(case, built)
        return found, refusal or machine.run(case, built)
