"""`annotate`: show the source of one case with the cost of each line, from the emulator."""

from __future__ import annotations

from pathlib import Path

from harness.analysis.lines import machine_lines, source_lines
from harness.commands.printed import waits
from harness.console.progress import console
from harness.console.suggestions import command, did_you_mean
from harness.errors import UsageError
from harness.machine import devices, environment
from harness.matrix import model, plan


def annotate(
    pattern: str, config: Path | None, kernels: Path | None, arch: str | None, jobs: int,
    machine_code: bool, smallest: bool,
) -> int:  # fmt: skip
    """Print the annotated source; exit code 1 if the case has a fault."""
    from harness.run.emulated import shrink as shrinking
    from harness.run.emulated.emulate import emulate

    bench = model.load(config, kernels)
    device = devices.emulated(arch)
    planned = plan.resolve(bench, device, "emulator")
    cases = [c for c in planned.cases if not c.skip + c.refusal]
    wanted = [c for c in cases if c.id == pattern] or [c for c in cases if c.id.startswith(pattern)]
    if not wanted:
        variants = [f"{c.problem}/{c.variant}" for c in cases]
        near = did_you_mean(pattern, [*dict.fromkeys(variants), *(c.id for c in cases)])
        raise UsageError(
            f"no case begins with {pattern!r}{near}\n  {command('list')} shows them all"
        )
    case, cores = wanted[0], jobs or environment.cores()
    tests = [t for t in planned.tests if not t.skip + t.refusal]
    found = shrinking.first_fault(bench, device, case, tests, cores) if smallest else None
    if found is None:
        execution = emulate(bench, case, device.arch, cores, waits=True)
    else:
        console.print(f"{found.case.id} has a fault: {found.execution.faults[0]}", markup=False)
        found = shrinking.smallest(bench, device, found, cores)
        case, execution = found.case, found.execution
    console.print(f"{case.id} on {device.name}", markup=False)
    for index, step in enumerate(case.steps):
        for file, costs in source_lines.by_file(execution.lines, index).items():
            shown = source_lines.annotated(source_lines.read(file), costs)
            form = "machine code" if execution.machine_code else "PTX alone"
            title = f"{step.kernel}: {file}, counted in {form}"
            code = execution.machine_code if machine_code else ()
            listed = machine_lines.by_line(code, index, file)
            console.print(source_lines.table(title, shown, console.width, listed))
        if execution.waits[index : index + 1] not in ((), ((),)):
            console.print(waits.table(step.kernel, execution.waits[index]))
    for fault in execution.faults:
        console.print(f"FAULT {fault}", markup=False)
    return int(bool(execution.faults))
