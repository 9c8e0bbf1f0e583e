"""Execute one case once on the emulator, in this process."""

from __future__ import annotations

from harness.backends.base import Execution
from harness.backends.emulated import EmulatorBackend
from harness.backends.machine_code import MachineCodeWorkspace, both, in_ptx_alone
from harness.cases import Case
from harness.compiler import compile as compiler
from harness.matrix import model
from harness.problem import loading
from harness.worker.inputs import drawn


def emulate(
    bench: model.Bench, case: Case, arch: str, jobs: int = 1, draw: int | None = None,
    *, waits: bool = False,
) -> Execution:  # fmt: skip
    """Merge the PTX and machine-code results, or return the PTX results if there are no others."""
    ptx, machine = by_front_end(bench, case, arch, jobs, draw, waits=waits)
    if ptx.faults:
        return ptx
    return in_ptx_alone(ptx) if isinstance(machine, str) else both(ptx, machine)


def by_front_end(
    bench: model.Bench,
    case: Case,
    arch: str,
    jobs: int = 1,
    draw: int | None = None,
    *,
    waits: bool = False,
    checks: bool = True,
) -> tuple[Execution, Execution | str]:
    """Execute a case's PTX and its machine code, or say why the machine code was not executed.

    `draw`: the number of the set of inputs to use; by default that of the timed set. `waits`: note
    what the PTX threads wait for at mbarriers. `checks`: look for races and uses of uninitialised
    memory in the PTX.
    """
    problem = loading.load(bench.kernels / case.problem)
    built = compiler.build(compiler.unit(case, bench.kernels, arch))
    inputs = drawn(problem, case, bench.timing.seed, problem.timed_draw if draw is None else draw)
    buffers = problem.buffers(case.sizes, case.dtype)
    with (
        EmulatorBackend(arch, jobs, waits=waits, checks=checks).workspace(
            problem, buffers, inputs
        ) as ptx,
        MachineCodeWorkspace(buffers, inputs) as machine,
    ):
        found = ptx.run(case, built)
        if found.faults:
            return found, "its PTX has a fault"
        refusal = machine.refusal(case, built)
        return found, refusal or machine.run(case, built)
