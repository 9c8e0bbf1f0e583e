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
from harness.commands import annotate, doctor, listing, redraw, results
from harness.commands.options import (
    Arch,
    AsJson,
    AsMarkdown,
    Backend,
    Config,
    Jobs,
    Kernels,
    Only,
    Out,
    Quiet,
)
from harness.commands.summary import summarise
from harness.errors import HarnessError, UsageError
from harness.matrix import model
from harness.ncu.metrics import choose
from harness.ncu.stage import Wanted
from harness.ncu.tool import CacheControl, ClockControl, Settings
from harness.progress import console
from harness.run import devices, machine
from harness.run.folder import Folder, fresh
from harness.run.runner import Runner

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


app.command("list")(listing.list_cases)


@app.command()
def run(
    config_path: Config = None,
    kernels: Kernels = None,
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
    quiet: Quiet = False,
    as_json: AsJson = None,
    as_markdown: AsMarkdown = None,
) -> None:
    """Compile, verify and time (or emulate) the matrix, and write the report.

    Exit code 0: every case is ok. 1: some failed. 2: the command or the matrix is wrong.
    130: interrupted, with everything so far kept.
    """
    told = results.Wanted(quiet, as_json, as_markdown)
    _carry_out(config_path, kernels, backend, only, arch, out, jobs, None, told)


@app.command()
def profile(
    config_path: Config = None,
    kernels: Kernels = None,
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
    metrics: Annotated[
        list[str], typer.Option("--metrics", help="A set of metrics; repeatable. All by default.")
    ] = [],  # noqa: B006
    ncu: Annotated[str | None, typer.Option(help="Nsight Compute's ncu, if not on PATH.")] = None,
    cache_control: Annotated[
        CacheControl, typer.Option(help="all: empty the caches before every pass.")
    ] = "all",
    clock_control: Annotated[
        ClockControl, typer.Option(help="base: lock the clocks while profiling.")
    ] = "none",
    quiet: Quiet = False,
    as_json: AsJson = None,
    as_markdown: AsMarkdown = None,
) -> None:
    """Run the matrix, then every sound case under Nsight Compute once; or emulate and count.

    With --out of an earlier run only what ncu has not told yet is collected. Exit codes as `run`;
    1 also where counters are missing.
    """
    choose(metrics, None)  # a set that does not exist is refused before anything runs
    wanted = Wanted(tuple(metrics), ncu, Settings(cache_control, clock_control))
    told = results.Wanted(quiet, as_json, as_markdown)
    _carry_out(config_path, kernels, backend, only, arch, out, jobs, wanted, told)


app.command("report")(redraw.redraw)
app.command("annotate")(annotate.annotate)
app.command("doctor")(doctor.show)


def _carry_out(
    config_path: Path | None,
    kernels: Path | None,
    backend: str,
    only: list[str],
    arch: str | None,
    out: Path | None,
    jobs: int,
    wanted: Wanted | None,
    told: results.Wanted,
) -> None:
    """From the matrix to the report."""
    told.check()
    started = datetime.now(timezone.utc)
    bench = model.load(config_path, kernels)
    chosen, device, warning = devices.choose(backend, arch)
    if warning:
        console.print(warning, markup=False)
    path = out or fresh(started)
    runner = Runner(bench, device, chosen, only, path, wanted, jobs or machine.cores())
    folder = Folder(runner, only, started)
    for note in listing.notes(runner.plan):
        console.print(note, markup=False)
    console.print(f"{listing.count(runner.cases)} on {device.name}, into {path}", markup=False)
    interrupted = False
    try:
        with _the_gpu_to_itself() if chosen == "cuda" else nullcontext():
            runner.run()
    except Timeout:
        raise UsageError("another run is using the GPU; wait for it to end") from None
    except KeyboardInterrupt:
        interrupted = True
    code = 130 if interrupted else int(runner.failed)
    folder.close(code)
    finished = tables.load(path)
    page = report.write(finished)
    folder.point_latest()
    results.tell(finished, told)
    summarise(finished, interrupted)
    if runner.without_ceilings:
        console.print(f"CEILINGS not measured: {runner.without_ceilings}", markup=False)
    for failure in runner.unprofiled:
        console.print(f"COUNTERS {failure.reason}", markup=False)
    console.print(str(page), markup=False)
    raise typer.Exit(code)


def _the_gpu_to_itself() -> FileLock:
    """Two runs on one GPU would time each other."""
    return FileLock(Path(tempfile.gettempdir()) / "kernel-harness-gpu.lock", timeout=0)


def main() -> None:
    """Run a command; a mistake of the user's is a message and exit code 2, never a traceback."""
    try:
        app()
    except HarnessError as error:
        console.print(f"error: {error}", markup=False)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
