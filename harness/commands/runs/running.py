"""`run` and `profile`: what they take from the command line, and what that asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from harness.commands.options import (
    Arch,
    AsJson,
    Asked,
    AsMarkdown,
    Backend,
    Cluster,
    Config,
    Dtype,
    Jobs,
    Kernels,
    Launch,
    Only,
    Out,
    Quick,
    Quiet,
    Sandbox,
    SaveBaseline,
    Size,
)
from harness.commands.printed import results
from harness.commands.runs import sandbox, watching
from harness.comparison import baselines
from harness.errors import UsageError
from harness.matrix.filters import Choice
from harness.ncu.metrics import choose
from harness.ncu.stage import Wanted
from harness.ncu.tool import CacheControl, ClockControl, Settings
from harness.progress import console

CarryOut = Callable[[Asked], tuple[int, Path]]
ENDED = (0, 1)
"""Exit codes of a run that was not stopped before its end."""


def add(app: typer.Typer, carry_out: CarryOut) -> None:
    """Both commands. carry_out: from the matrix to the report; the exit code and the folder."""

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
        in_sandbox: Sandbox = False,
        quiet: Quiet = False,
        as_json: AsJson = None,
        as_markdown: AsMarkdown = None,
        baseline: SaveBaseline = None,
        cluster: Cluster = None,
        watch: Annotated[
            bool,
            typer.Option("--watch", help="Then wait, and run again what a saved file changes."),
        ] = False,
    ) -> None:
        """Compile, verify and time (or emulate) the matrix, and write the report.

        Exit code 0: every case is ok. 1: some failed or broke a budget that `expect:` sets, or the
        GPU or the cluster failed. 2: the command or the matrix is wrong, or the folder cannot be
        written. 130, 143, 129: stopped by Ctrl-C, SIGTERM or SIGHUP, with everything so far kept.
        """
        choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
        told = results.Wanted(quiet, as_json, as_markdown)
        asked = Asked(
            config_path, kernels, backend, choice, arch, out, jobs, told, cluster=cluster
        )  # fmt: skip
        if cluster and (in_sandbox or watch):
            raise UsageError(
                "--cluster goes with neither --sandbox nor --watch: workers are processes of their "
                "own, which a sandbox here does not hold\n  leave one of the two out"
            )
        if in_sandbox:
            raise typer.Exit(_kept(asked, baseline, sandbox.run)[0])
        before = watching.files(asked) if watch else {}
        code, folder = _kept(asked, baseline, carry_out)
        if watch:
            code = watching.go_on(asked, folder, carry_out, code, before)
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
        ncu: Annotated[
            str | None, typer.Option(help="Nsight Compute's ncu, if not on PATH.")
        ] = None,
        cache_control: Annotated[
            CacheControl, typer.Option(help="all: empty the caches before every pass.")
        ] = "all",
        clock_control: Annotated[
            ClockControl, typer.Option(help="base: lock the clocks while profiling.")
        ] = "none",
        in_sandbox: Sandbox = False,
        quiet: Quiet = False,
        as_json: AsJson = None,
        as_markdown: AsMarkdown = None,
        baseline: SaveBaseline = None,
    ) -> None:
        """Run the matrix, then every sound case under Nsight Compute once; or emulate and count.

        With --out of a run that has ended, only what ncu has not told yet is collected, of the
        cases that the filters choose. Where ncu is missing or forbidden, the emulator counts what
        was timed. Exit codes as `run`; 1 also where a kernel has no counters, or --ncu names none.
        """
        choose(metrics, None)  # a set that does not exist is refused before anything runs
        choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
        wanted = Wanted(tuple(metrics), ncu, Settings(cache_control, clock_control))
        told = results.Wanted(quiet, as_json, as_markdown)
        asked = Asked(config_path, kernels, backend, choice, arch, out, jobs, told, wanted)
        raise typer.Exit(_kept(asked, baseline, sandbox.run if in_sandbox else carry_out)[0])


def _kept(asked: Asked, baseline: str | None, carry_out: CarryOut) -> tuple[int, Path]:
    """Carry out, and keep the run by a name, where one is given and the run has ended."""
    if baseline is not None:
        baselines.check(baseline)
    code, folder = carry_out(asked)
    if baseline is not None and code in ENDED:
        console.print(f"kept as {baselines.save(folder, baseline)}", markup=False)
    elif baseline is not None:
        console.print(f"not kept as {baseline}: the run did not end", markup=False)
    return code, folder
