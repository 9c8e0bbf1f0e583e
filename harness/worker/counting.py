"""Count cases without a GPU, in their PTX and in the machine code that a GPU would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from harness.backends.base import Backend, Workspace
from harness.backends.machine_code import MachineCodeWorkspace, both, in_ptx_alone, list_together
from harness.cases import Case
from harness.compiler.compile import Built
from harness.emulator import LaunchError
from harness.emulator.engine.compiled_library import COMPILING_S
from harness.emulator.sass import library as machine_code
from harness.job import Job, Telling
from harness.journal.records import IN_PTX_ALONE, Record, Remark
from harness.problem import Problem
from harness.worker.inputs import Inputs, by_group


def count(
    job: Job, backend: Backend, problem: Problem, cases: Sequence[Case], tell: Telling
) -> None:
    """Verify and count at the sizes of the matrix, by executing PTX and machine code."""
    tell.now("", COMPILING_S)
    with suppress(LaunchError):  # reported for each case that needs it
        machine_code.load()
    told = set[Remark]()
    list_together(job.built[case.id] for case in cases)
    for group in by_group(cases):
        inputs = Inputs(problem, group[0], job.seed, problem.timed_draw)
        buffers = problem.buffers(group[0].sizes, group[0].dtype)
        with (
            backend.workspace(problem, buffers, inputs.values) as ptx,
            MachineCodeWorkspace(buffers, inputs.values) as machine,
        ):
            for case in group:
                tell.now(case.id)
                for record in _counted(inputs, ptx, machine, case, job.built[case.id]):
                    if not isinstance(record, Remark):
                        tell.record(record)
                    elif record not in told:
                        told.add(record)
                        tell.record(record)


def _counted(
    inputs: Inputs, ptx: Workspace, machine: MachineCodeWorkspace, case: Case, built: Built
) -> Iterator[Record]:
    """The combined result of PTX and machine code: correct only if both are correct."""
    verified, found = inputs.verify(ptx, case, built, "before")
    if verified.ok and (refusal := machine.refusal(case, built)):
        text = f"{IN_PTX_ALONE}: {refusal}"
        yield Remark(case.problem, case.variant, case.dtype, text, "ptx-level")
        found = in_ptx_alone(found)
    elif verified.ok:
        verified, executed = inputs.verify(machine, case, built, "before")
        if not verified.ok and not executed.faults:
            verified = replace(verified, reason=f"{verified.reason} (its machine code alone)")
        found = both(found, executed)
    yield verified
    yield from found.counts
    yield from found.lines
    yield from found.machine_code
