"""The command line, and the story of a run from the matrix to the report."""

from __future__ import annotations

import sys
import tempfile
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer
from filelock import FileLock, Timeout

from harness import __version__, report, tables
from harness.analysis.budgets import checks as budget_checks
from harness.commands import (
    annotate,
    beside,
    budgets,
    compare,
    doctor,
    listing,
    new,
    pack,
    redraw,
    results,
    running,
    trend,
)
from harness.commands.options import Asked
from harness.commands.summary import summarise
from harness.errors import HarnessError, UsageError
from harness.matrix import model
from harness.progress import console
from harness.run import devices, machine
from harness.run.folder import INTERRUPTED, Folder
from harness.run.runner import Runner

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

ROUGH = "--quick: one size per problem and few rounds; take its figures for rough ones"


def _version(asked: bool) -> None:
    if asked:
        console.print(f"kernel-harness {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print it and stop."),
    ] = False,
) -> None:
    """Which CUDA kernel variant is faster, by how much, and why."""


def _carry_out(asked: Asked) -> tuple[int, Path]:
    """From the matrix to the report: the exit code, and the run's folder."""
    asked.told.check()
    started = datetime.now(timezone.utc)
    bench = asked.bench or model.load(asked.config, asked.kernels)
    backend, device, warning = devices.choose(asked.backend, asked.arch)
    if warning:
        console.print(warning, markup=False)
    if asked.wanted and asked.wanted.sets and backend == "emulator":
        raise UsageError(
            "--metrics chooses what ncu counts on a GPU; the emulator always counts all it can\n"
            "  leave --metrics out, or run where there is a GPU"
        )
    folder = Folder(
        asked.out, bench, asked.choice, backend, device, started,
        only_profiling=asked.wanted is not None, beside=asked.beside,
    )  # fmt: skip
    with folder.or_leave_none():
        runner = Runner(
            folder.bench, device, backend, folder.choice.only, folder.path, asked.wanted,
            asked.jobs or machine.cores(), folder.chosen,
        )  # fmt: skip
    folder.open(runner)
    for note in listing.notes(runner.plan):
        console.print(note, markup=False)
    if asked.choice.quick:
        console.print(ROUGH)
    console.print(
        f"{listing.count(runner.chosen)} on {device.name}, into {folder.path}", markup=False
    )
    interrupted = False
    try:
        with _the_gpu_to_itself() if backend == "cuda" else nullcontext():
            runner.run()
    except Timeout:
        raise UsageError("another run is using the GPU; wait for it to end") from None
    except KeyboardInterrupt:
        interrupted = True
    code = INTERRUPTED if interrupted else int(runner.failed)
    folder.close(code)
    finished = tables.load(folder.path)
    checks = budget_checks(finished)
    chosen = {case.id for case in runner.chosen}
    if code == 0 and any(c.status == "broken" and c.case in chosen for c in checks):
        code = 1
        folder.close(code)
    page = report.write(finished)
    folder.point_latest()
    results.tell(finished, asked.told)
    summarise(finished, interrupted)
    budgets.say(checks)
    if runner.without_ceilings:
        console.print(f"CEILINGS not measured: {runner.without_ceilings}", markup=False)
    for failure in runner.unprofiled:
        console.print(f"COUNTERS {failure.reason}", markup=False)
    if asked.choice.quick:
        console.print(ROUGH)
    console.print(str(page), markup=False)
    return code, folder.path


def _the_gpu_to_itself() -> FileLock:
    """Two runs on one GPU would time each other."""
    return FileLock(Path(tempfile.gettempdir()) / "kernel-harness-gpu.lock", timeout=0)


app.command("list")(listing.list_cases)
running.add(app, _carry_out)
beside.add(app, _carry_out)
app.command("report")(redraw.redraw)
app.command("pack")(pack.pack)
app.command("compare")(compare.compare)
app.command("trend")(trend.trend)
app.command("annotate")(annotate.annotate)
app.command("new")(new.new)
app.command("doctor")(doctor.show)


def main() -> None:
    """Run a command; a mistake of the user's is a message and exit code 2, never a traceback."""
    try:
        app()
    except HarnessError as error:
        console.print(f"error: {error}", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
