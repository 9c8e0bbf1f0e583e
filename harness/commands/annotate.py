"""`annotate`: the source of one case with what each line cost, by the emulator."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.analysis import machine_lines, source_lines
from harness.commands.options import Arch, Config, Jobs, Kernels
from harness.errors import UsageError
from harness.matrix import model, plan
from harness.near import did_you_mean
from harness.progress import console
from harness.run import devices, machine
from harness.run.runner import emulate


def annotate(
    pattern: Annotated[str, typer.Argument(help="A case, or the start of its name.")],
    config_path: Config = None,
    kernels: Kernels = None,
    arch: Arch = None,
    jobs: Jobs = 0,
    machine_code: Annotated[
        bool, typer.Option("--machine-code", help="Show each line's machine instructions, too.")
    ] = False,
) -> None:
    """Emulate one case and show its source, with what each line cost."""
    bench = model.load(config_path, kernels)
    device = devices.emulated(arch)
    found = plan.resolve(bench, device, "emulator").cases
    cases = [c for c in found if not c.skip + c.refusal]
    wanted = [c for c in cases if c.id == pattern] or [c for c in cases if c.id.startswith(pattern)]
    if not wanted:
        variants = [f"{c.problem}/{c.variant}" for c in cases]
        near = did_you_mean(pattern, [*dict.fromkeys(variants), *(c.id for c in cases)])
        raise UsageError(
            f"no case begins with {pattern!r}{near}\n  python -m harness list shows them all"
        )
    execution = emulate(bench, wanted[0], device.arch, jobs or machine.cores())
    console.print(f"{wanted[0].id} on {device.name}", markup=False)
    for index, step in enumerate(wanted[0].steps):
        for file, costs in source_lines.by_file(execution.lines, index).items():
            shown = source_lines.annotated(source_lines.read(file), costs)
            form = "machine code" if execution.machine_code else "PTX alone"
            title = f"{step.kernel}: {file}, counted in {form}"
            listed = machine_lines.by_line(execution.machine_code, index, file)
            listed = listed if machine_code else {}
            console.print(source_lines.table(title, shown, console.width, listed))
    for fault in execution.faults:
        console.print(f"FAULT {fault}", markup=False)
    raise typer.Exit(int(bool(execution.faults)))
