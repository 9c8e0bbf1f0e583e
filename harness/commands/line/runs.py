"""`run`, `profile` and `beside`: their options, and the request that each builds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.line.groups import MatrixOptions, RunOptions, takes_groups
from harness.commands.line.options import (
    CacheControl,
    ClockControl,
    Cluster,
    ComparisonJson,
    ComparisonJunit,
    ComparisonMarkdown,
    ComparisonSarif,
    Gate,
    Jobs,
    MinEffect,
    Out,
    Quiet,
)

if TYPE_CHECKING:
    from harness.commands.request import CarryOut, RunRequest


def here(request: RunRequest) -> tuple[int, Path]:
    """Run on this machine."""
    from harness.commands.runs.here import carry_out

    return carry_out(request)


def _request(matrix: MatrixOptions, options: RunOptions, **more: Any) -> RunRequest:
    from harness.commands.request import RunRequest

    return RunRequest(
        matrix.config_path, matrix.kernels, matrix.backend, matrix.choice, matrix.arch,
        options.out, options.jobs, options.told, anew=options.anew, **more,
    )  # fmt: skip


def add(app: typer.Typer, carry_out: CarryOut = here) -> None:
    """Add the commands to the program.

    `carry_out`: runs the matrix up to the report, and returns the exit code and the folder.
    """

    @app.command()
    @takes_groups
    def run(
        matrix: MatrixOptions,
        options: RunOptions,
        cluster: Cluster = None,
        watch: Annotated[
            bool,
            typer.Option(
                "--watch", help="Afterwards wait, and run again what a saved file affects."
            ),
        ] = False,
    ) -> None:
        """Compile, verify and time (or emulate) the matrix, and write the report.

        Exit code 0: every case is ok. 1: some failed or broke a budget that `expect:` sets, or the
        GPU or the cluster failed. 2: the command or the matrix is wrong, or the folder cannot be
        written. 130, 143, 129: stopped by Ctrl-C, SIGTERM or SIGHUP, with all results so far kept.
        """
        from harness.commands.runs import running

        request = _request(matrix, options, cluster=cluster)
        raise typer.Exit(
            running.run(request, carry_out, options.baseline, options.in_sandbox, watch)
        )

    @app.command()
    @takes_groups
    def profile(
        matrix: MatrixOptions,
        options: RunOptions,
        metrics: Annotated[
            list[str],
            typer.Option(
                "--metrics",
                help="A set of metrics; by default all. GPU only. Repeatable.",
            ),
        ] = [],  # noqa: B006
        ncu: Annotated[
            str | None, typer.Option(help="The path of Nsight Compute's ncu, if it is not on PATH.")
        ] = None,
        cache_control: Annotated[
            CacheControl, typer.Option(help="all: empty the caches before every pass.")
        ] = "all",
        clock_control: Annotated[
            ClockControl, typer.Option(help="base: lock the clocks while profiling.")
        ] = "none",
    ) -> None:
        """Run the matrix, then every passing case under Nsight Compute once; or emulate and count.

        With --out of a finished run, only missing ncu counters are collected, for the cases that
        the filters choose. If ncu is missing or forbidden, the emulator counts the timed cases.
        Exit codes as for `run`; also 1 if a kernel has no counters, or if --ncu names no ncu.
        """
        from harness.commands.runs import running
        from harness.ncu.command_line import Settings
        from harness.ncu.stage import ProfileOptions

        wanted = ProfileOptions(tuple(metrics), ncu, Settings(cache_control, clock_control))
        request = _request(matrix, options, wanted=wanted)
        raise typer.Exit(running.profile(request, carry_out, options.baseline, options.in_sandbox))

    @app.command("beside")
    @takes_groups
    def beside_commit(
        base: Annotated[
            str, typer.Argument(help="git: with a branch, tag or commit, such as git:main.")
        ],
        matrix: MatrixOptions,
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
                "--uncommitted", help="Allow uncommitted changes, and use the kernels as they are."
            ),
        ] = False,
        gate: Gate = False,
        min_effect: MinEffect = None,
        quiet: Quiet = False,
        as_json: ComparisonJson = None,
        as_markdown: ComparisonMarkdown = None,
        as_junit: ComparisonJunit = None,
        as_sarif: ComparisonSarif = None,
    ) -> None:
        """Build and run a commit's kernels beside today's, in one run, and compare the two.

        Both sides are measured in the same rounds, with the current problem.py, sizes and settings;
        the names of the commit's variants end in __base. Exit codes as for `run`; with --gate, as
        for `compare --gate`.
        """
        from harness.commands import compare
        from harness.commands.runs import beside
        from harness.comparison.judgement import MIN_EFFECT

        # Quiet, because the comparison is printed instead.
        request = _request(matrix, RunOptions(out, jobs, quiet=True))
        wanted = compare.CompareOptions(as_json, as_markdown, as_junit, as_sarif)
        comparing = beside.Comparing(wanted, gate, min_effect or MIN_EFFECT, quiet)
        raise typer.Exit(
            beside.carry_out(base, request, carry_out, comparing, changed_only, uncommitted)
        )
