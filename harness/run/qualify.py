"""What a worker does with one variant alone: verify it small, and without a GPU count it."""

from __future__ import annotations

from harness import problem as problems
from harness.backends.base import Backend
from harness.cases import Shape
from harness.job import Job, Telling
from harness.run.inputs import DRAWS, Inputs, by_group


def qualify(job: Job, backend: Backend, tell: Telling) -> None:
    """Verify every test case; then, where nothing is timed, verify and count the bench cases.

    A launch shape is given up at its first failure: one reason is enough.
    """
    problem = problems.load(job.kernels / (job.tests or job.cases)[0].problem)
    given_up: set[Shape] = set()
    for group in by_group(job.tests):
        for draw in DRAWS:
            inputs = Inputs(problem, group[0], job.seed, draw)
            buffers = problem.buffers(group[0].sizes, group[0].dtype)
            with backend.workspace(problem, buffers, inputs.values) as workspace:
                for case in group:
                    if case.shape in given_up:
                        continue
                    tell.now(case.id)
                    verified, _ = inputs.verify(workspace, case, job.built.get(case.id), "test")
                    tell.record(verified)
                    if not verified.ok:
                        given_up.add(case.shape)
    for group in by_group(job.cases):
        inputs = Inputs(problem, group[0], job.seed, 0)
        buffers = problem.buffers(group[0].sizes, group[0].dtype)
        with backend.workspace(problem, buffers, inputs.values) as workspace:
            for case in group:
                if case.shape in given_up:
                    continue
                tell.now(case.id)
                verified, execution = inputs.verify(workspace, case, job.built[case.id], "before")
                tell.record(verified)
                for count in execution.counts:
                    tell.record(count)
                for line in execution.lines:
                    tell.record(line)
