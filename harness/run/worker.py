"""The process that runs kernels: one job, its records written as lines to a pipe.

    python -m harness.run.worker JOB.json FD|FILE

A kernel may crash the process, hang it or lose the GPU's context; whoever started it
(harness/run/runner.py) keeps what was written, knows from the last `now` line what was running, and
goes on with the others.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness import problem as problems
from harness.backends.base import Backend, Execution, Workspace
from harness.backends.emulated import EmulatorBackend
from harness.build.compile import Built
from harness.cases import Case, Device, Shape
from harness.errors import DeviceFault, HarnessError, ProblemError
from harness.job import DEVICE, JOB, Job
from harness.problem import Problem
from harness.records import Outcome, Record, Verified, to_json
from harness.run.verify import Check, check

DRAWS = (0, 1)
"""Every test is run on two draws of inputs, which a problem may make different in kind."""


class Pipe:
    """Lines to the parent: `pid N`, `now CASE`, `record JSON`, `device JSON`, `error TEXT`.

    They go to a descriptor, or to a file where a program in between may not hand descriptors on.
    """

    def __init__(self, where: int | str) -> None:
        self._file = open(where, "w", encoding="utf-8")  # noqa: SIM115
        if isinstance(where, str):  # whoever reads the file did not start this process
            self._line("pid", str(os.getpid()))

    def now(self, what: str) -> None:
        self._line("now", what)

    def record(self, record: Record) -> None:
        self._line("record", to_json(record))

    def device(self, device: Device) -> None:
        self._line("device", DEVICE.dump_json(device).decode())

    def error(self, text: str) -> None:
        self._line("error", text.replace("\n", "\\n"))

    def _line(self, word: str, rest: str) -> None:
        self._file.write(f"{word} {rest}\n")
        self._file.flush()


def generator(seed: int, *key: Any) -> np.random.Generator:
    """Random numbers that depend on the seed and on what they are for, and on nothing else."""
    return np.random.default_rng([seed, zlib.crc32(repr(key).encode())])


class Inputs:
    """One draw of a group's inputs, with the float64 reference and its bound."""

    def __init__(self, problem: Problem, case: Case, seed: int, draw: int) -> None:
        rng = generator(seed, case.group, draw)
        self.draw = draw
        self.values = problem.inputs(case.sizes, case.dtype, rng, draw)
        self.reference = problem.reference(case.sizes, case.dtype, self.values)
        self.tolerance = problem.tolerance(case.sizes, case.dtype, self.values)

    def verify(
        self,
        workspace: Workspace,
        case: Case,
        built: Built | None,
        phase: Literal["test", "before", "after"],
    ) -> tuple[Verified, Execution]:
        """Run the case once on these inputs, and say whether it was right."""
        try:
            execution = workspace.run(case, built)
            result = check(execution, self.reference, self.tolerance)
        except DeviceFault:
            raise
        except HarnessError as error:
            execution, result = Execution({}), Check(False, str(error))
        verified = Verified(
            case.problem, case.variant, case.dtype, case.sizes, case.launch,
            phase, self.draw, result.ok, result.reason, result.error,
        )  # fmt: skip
        return verified, execution


def by_group(cases: Iterable[Case]) -> Iterable[list[Case]]:
    """Cases that share a problem, dtype and sizes, and so their inputs."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.group].append(case)
    return groups.values()


def qualify(job: Job, backend: Backend, pipe: Pipe) -> None:
    """Verify every test case; then, where nothing is timed, verify and count the bench cases.

    A launch shape is given up at its first failure: one reason is enough.
    """
    problem = problems.load(job.kernels / (job.tests or job.cases)[0].problem)
    given_up: set[Shape] = set()
    for group in by_group(job.tests):
        for draw in DRAWS:
            inputs = Inputs(problem, group[0], job.seed, draw)
            needed = problem.buffers(group[0].sizes, group[0].dtype)
            with backend.workspace(needed, inputs.values) as workspace:
                for case in group:
                    if case.shape in given_up:
                        continue
                    pipe.now(case.id)
                    verified, _ = inputs.verify(workspace, case, job.built[case.id], "test")
                    pipe.record(verified)
                    if not verified.ok:
                        given_up.add(case.shape)
    for group in by_group(job.cases):
        inputs = Inputs(problem, group[0], job.seed, 0)
        needed = problem.buffers(group[0].sizes, group[0].dtype)
        with backend.workspace(needed, inputs.values) as workspace:
            for case in group:
                if case.shape in given_up:
                    continue
                pipe.now(case.id)
                verified, execution = inputs.verify(workspace, case, job.built[case.id], "before")
                pipe.record(verified)
                for count in execution.counts:
                    pipe.record(count)
                for line in execution.lines:
                    pipe.record(line)


def measure(job: Job, backend: Backend, pipe: Pipe) -> None:
    """Verify, time in rounds, verify again on other inputs: one group, on a GPU."""
    from harness.backends.cuda import CudaWorkspace
    from harness.measure.conditions import Sensors
    from harness.measure.rounds import Entry
    from harness.measure.rounds import measure as timed_rounds

    first = job.cases[0]
    problem = problems.load(job.kernels / first.problem)
    needed = problem.buffers(first.sizes, first.dtype)
    before, after = (Inputs(problem, first, job.seed, draw) for draw in DRAWS)
    with backend.workspace(needed, before.values) as workspace, Sensors() as sensors:
        assert isinstance(workspace, CudaWorkspace)
        workspace.problem = problem
        sound = _still_right(job, job.cases, workspace, before, "before", pipe)
        entries = [Entry(case, job.built.get(case.id)) for case in sound]
        entries += [Entry(e.case, e.built, repeat=True)
                    for e in entries if e.case.variant == job.baseline]  # fmt: skip
        rng = generator(job.seed, "order", first.group, job.first_round)
        for record in timed_rounds(
            workspace, entries, job.rounds, job.batch, rng, job.first_round,
            starting=lambda case: pipe.now(case.id),
            conditions=lambda number: sensors.read(first.group, number),
        ):  # fmt: skip
            pipe.record(record)
        workspace.refill(after.values)
        for case in _still_right(job, sound, workspace, after, "after", pipe):
            pipe.record(Outcome(case.id, "ok"))


def _still_right(
    job: Job,
    cases: Iterable[Case],
    workspace: Workspace,
    inputs: Inputs,
    phase: Literal["before", "after"],
    pipe: Pipe,
) -> list[Case]:
    """The cases that compute the right thing; the others get their outcome here."""
    right = []
    for case in cases:
        pipe.now(case.id)
        verified, _ = inputs.verify(workspace, case, job.built.get(case.id), phase)
        pipe.record(verified)
        if verified.ok:
            right.append(case)
        else:
            pipe.record(Outcome(case.id, "failed", f"{phase} timing: {verified.reason}"))
    return right


def profile(job: Job, backend: Backend, pipe: Pipe) -> None:
    """Every step of every case once, each in the NVTX range by which ncu's figures are found."""
    from harness.backends.cuda import CudaWorkspace
    from harness.ncu import ranges

    first = job.cases[0]
    problem = problems.load(job.kernels / first.problem)
    needed = problem.buffers(first.sizes, first.dtype)
    rng = generator(job.seed, first.group, DRAWS[0])
    inputs = problem.inputs(first.sizes, first.dtype, rng, DRAWS[0])
    with backend.workspace(needed, inputs) as workspace:
        assert isinstance(workspace, CudaWorkspace)
        workspace.problem = problem
        for case in job.cases:
            pipe.now(case.id)
            names = [ranges.name(case.id, step) for step in range(len(case.steps) or 1)]
            workspace.profile(case, job.built.get(case.id), names)


def ceilings(job: Job, backend: Backend, pipe: Pipe) -> None:
    from harness.measure.ceilings import measure_ceilings

    pipe.now("the ceilings")
    for ceiling in measure_ceilings(backend, generator(job.seed, "ceilings")):
        pipe.record(ceiling)


def open_backend(job: Job) -> Backend:
    if job.backend == "emulator":
        return EmulatorBackend(job.arch or "sm_90", job.jobs)
    from harness.backends.cuda import CudaBackend

    return CudaBackend(job.arch)


def main(arguments: Mapping[int, str]) -> int:
    job = JOB.validate_json(Path(arguments[1]).read_bytes())
    pipe = Pipe(int(arguments[2]) if arguments[2].isdecimal() else arguments[2])
    try:
        backend = open_backend(job)
        try:
            if job.task == "describe":
                pipe.device(backend.device)
            else:
                tasks = {
                    "qualify": qualify, "measure": measure, "ceilings": ceilings,
                    "profile": profile,
                }  # fmt: skip
                tasks[job.task](job, backend, pipe)
        finally:
            backend.close()
    except ProblemError as error:
        pipe.now("")  # a fault of the problem, and of no case: the same words for all variants
        pipe.error(str(error))
        return 1
    except (HarnessError, ImportError, MemoryError) as error:
        pipe.error(str(error) or type(error).__name__)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(dict(enumerate(sys.argv))))
