"""`run`, `profile` and `beside`: their options, and the request that each builds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.line.options import (
    Arch,
    AsJson,
    AsMarkdown,
    Backend,
    CacheControl,
    ClockControl,
    Cluster,
    ComparisonJson,
    ComparisonJunit,
    ComparisonMarkdown,
    Config,
    Dtype,
    Gate,
    Jobs,
    Kernels,
    Launch,
    MinEffect,
    Only,
    Out,
    Quick,
    Quiet,
    Sandbox,
    SaveBaseline,
    Size,
)

if TYPE_CHECKING:
    from harness.commands.request import CarryOut, RunRequest


def here(request: RunRequest) -> tuple[int, Path]:
    """Run on this machine."""
    from harness.commands.runs.here import carry_out

    return carry_out(request)


def add(app: typer.Typer, carry_out: CarryOut = here) -> None:
    """Add the commands to the program.

    carry_out: runs the matrix up to the report, and returns the exit code and the folder.
    """

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
        from harness.commands.request import Choice, OutputOptions, RunRequest
        from harness.commands.runs import running

        choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
        told = OutputOptions(quiet, as_json, as_markdown)
        request = RunRequest(
            config_path, kernels, backend, choice, arch, out, jobs, told, cluster=cluster
        )  # fmt: skip
        raise typer.Exit(running.run(request, carry_out, baseline, in_sandbox, watch))

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
        from harness.commands.request import Choice, OutputOptions, RunRequest
        from harness.commands.runs import running
        from harness.ncu.stage import ProfileOptions
        from harness.ncu.tool import Settings

        choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
        wanted = ProfileOptions(tuple(metrics), ncu, Settings(cache_control, clock_control))
        told = OutputOptions(quiet, as_json, as_markdown)
        request = RunRequest(config_path, kernels, backend, choice, arch, out, jobs, told, wanted)
        raise typer.Exit(running.profile(request, carry_out, baseline, in_sandbox))

    @app.command("beside")
    def beside_commit(
        base: Annotated[
            str, typer.Argument(help="git: and a branch, tag or commit, such as git:main.")
        ],
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
        changed_only: Annotated[
            bool,
            typer.Option(
                "--changed-only", help="Leave out variants whose sources and headers are the same."
            ),
        ] = False,
        uncommitted: Annotated[
            bool,
            typer.Option(
                "--uncommitted", help="Take kernels with uncommitted changes as they are."
            ),
        ] = False,
        gate: Gate = False,
        min_effect: MinEffect = None,
        quiet: Quiet = False,
        as_json: ComparisonJson = None,
        as_markdown: ComparisonMarkdown = None,
        as_junit: ComparisonJunit = None,
    ) -> None:
        """Build and run a commit's kernels beside today's, in one run, and compare the two.

        Both sides are measured in the same rounds, with today's problem.py, sizes and settings; the
        commit's variants end in __base. Exit codes as `run`; with --gate as `compare --gate`.
        """
        from harness.commands import compare
        from harness.commands.request import Choice, OutputOptions, RunRequest
        from harness.commands.runs import beside
        from harness.comparison.judgement import MIN_EFFECT

        choice = Choice(tuple(only), tuple(size), tuple(dtype), tuple(launch), quick)
        told = OutputOptions(quiet=True)  # the comparison tells
        request = RunRequest(config_path, kernels, backend, choice, arch, out, jobs, told)
        wanted = compare.CompareOptions(as_json, as_markdown, as_junit)
        comparing = beside.Comparing(wanted, gate, min_effect or MIN_EFFECT, quiet)
        raise typer.Exit(
            beside.carry_out(base, request, carry_out, comparing, changed_only, uncommitted)
        )
