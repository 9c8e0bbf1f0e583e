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
from harness.commands import annotate, doctor, listing, new, redraw, results, watching
from harness.commands.options import (
    Arch,
    AsJson,
    Asked,
    AsMarkdown,
    Backend,
    Config,
    Dtype,
    Jobs,
    Kernels,
    Launch,
    Only,
    Out,
    Quick,
    Quiet,
    Size,
)
from harness.commands.summary import summarise
from harness.errors import HarnessError, UsageError
from harness.matrix import model
from harness.matrix.filters import Choice
from harness.ncu.metrics import choose
from harness.ncu.stage import Wanted
from harness.ncu.tool import CacheControl, ClockControl, Settings
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


app.command("list")(listing.list_cases)


@app.command()
def run(
    config_path: Config = None,
    kernels: Kernels = None,
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    size: Size = [],  # noqa: B006
    dtype: Dtype = [],  # noqa: B006
    launch: Launch = [],  # noqa: B006
    quick: Quick = False,
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
    quiet: Quiet = False,
    as_json: AsJson = None,
    as_markdown: AsMarkdown = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Then wait, and run again what a saved file changes.")
    ] = False,
) -> None:
    """Compile, verify and time (or emulate) the matrix, and write the report.

    Exit code 0: every case is ok. 1: some failed. 2: the command or the matrix is wrong.
    130: interrupted, with everything so far kept.
    """
    choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
    told = results.Wanted(quiet, as_json, as_markdown)
    asked = Asked(config_path, kernels, backend, choice, arch, out, jobs, told)
    before = watching.files(asked) if watch else {}
    code, folder = _carry_out(asked)
    if watch:
        code = watching.go_on(asked, folder, _carry_out, code, before)
    raise typer.Exit(code)


@app.command()
def profile(
    config_path: Config = None,
    kernels: Kernels = None,
    backend: Backend = "auto",
    only: Only = [],  # noqa: B006
    size: Size = [],  # noqa: B006
    dtype: Dtype = [],  # noqa: B006
    launch: Launch = [],  # noqa: B006
    quick: Quick = False,
    arch: Arch = None,
    out: Out = None,
    jobs: Jobs = 0,
    metrics: Annotated[
        list[str],
        typer.Option(
            "--metrics",
            help="A set of metrics; repeatable. All by default. Of a GPU only.",
        ),
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

    With --out of a run that has ended, only what ncu has not told yet is collected, of the cases
    that the filters choose. Exit codes as `run`; 1 also where counters are missing.
    """
    choose(metrics, None)  # a set that does not exist is refused before anything runs
    choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
    wanted = Wanted(tuple(metrics), ncu, Settings(cache_control, clock_control))
    told = results.Wanted(quiet, as_json, as_markdown)
    asked = Asked(config_path, kernels, backend, choice, arch, out, jobs, told, wanted)
    raise typer.Exit(_carry_out(asked)[0])


app.command("report")(redraw.redraw)
app.command("annotate")(annotate.annotate)
app.command("new")(new.new)
app.command("doctor")(doctor.show)


def _carry_out(asked: Asked) -> tuple[int, Path]:
    """From the matrix to the report: the exit code, and the run's folder."""
    asked.told.check()
    started = datetime.now(timezone.utc)
    bench = model.load(asked.config, asked.kernels)
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
        only_profiling=asked.wanted is not None,
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
    page = report.write(finished)
    folder.point_latest()
    results.tell(finished, asked.told)
    summarise(finished, interrupted)
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
