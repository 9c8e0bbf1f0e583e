"""`report`, `pack`, `compare` and `trend`: the commands that work on existing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.commands.line import completion
from harness.commands.line.options import (
    AsJson,
    AsMarkdown,
    ComparisonJson,
    ComparisonJunit,
    ComparisonMarkdown,
    ComparisonSarif,
    Gate,
    MinEffect,
    Quiet,
)
from harness.journal.run_files import LATEST, REPORTS


def add(app: typer.Typer) -> None:
    app.command("report")(report)
    app.command("pack")(pack)
    app.command("compare")(compare)
    app.command("trend")(trend)


def report(
    folder: Annotated[
        Path, typer.Argument(help="A run's folder.", autocompletion=completion.runs)
    ] = LATEST,
    ncu: Annotated[
        list[Path],
        typer.Option("--ncu", help="A .ncu-rep whose figures go into the journal. Repeatable."),
    ] = [],  # noqa: B006
    single_file: Annotated[
        bool,
        typer.Option("--single-file", help="All pages in one file, to send or to attach."),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = None,
    as_markdown: AsMarkdown = None,
) -> None:
    """Redraw a run's tables, figures and pages from its journal; needs no GPU."""
    from harness.commands.redraw import redraw

    redraw(folder, ncu, single_file, quiet, as_json, as_markdown)


def pack(
    folder: Annotated[Path, typer.Argument(help="A run's folder.", autocompletion=completion.runs)],
    target: Annotated[
        Path, typer.Argument(help="Where the packed run goes; what pages share goes beside it.")
    ],
    only: Annotated[str, typer.Option("--only", help="Of several problems, this one alone.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run that the target has.")
    ] = False,
) -> None:
    """Keep a run in a repository: its journal compressed, and pages that share their assets.

    The run itself stays. Left out are the reports of Nsight Compute: their figures are in the
    journal.
    """
    from harness.commands import pack as packing

    packing.pack(folder, target, only, force)


def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="The run's folder to compare with; or a run that has both sides, alone.",
            autocompletion=completion.runs,
        ),
    ],
    new: Annotated[
        Path | None,
        typer.Argument(help="The new run's folder.", autocompletion=completion.runs),
    ] = None,
    gate: Gate = False,
    across_machines: Annotated[
        bool,
        typer.Option(
            "--across-machines",
            help="Compare runs of different machines by what each says against its own baseline.",
        ),
    ] = False,
    min_effect: MinEffect = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the answer alone.")] = False,
    as_json: ComparisonJson = None,
    as_markdown: ComparisonMarkdown = None,
    as_junit: ComparisonJunit = None,
    as_sarif: ComparisonSarif = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The page; by default comparison.html in the new run's folder."),
    ] = None,
) -> None:
    """What became slower, worse or faulty from one run to another, and what changed beside it.

    Exit code 0, and with --gate: 0: nothing is slower, worse or newly faulty. 1: something is.
    2: the command is wrong. 3: nobody can tell.
    """
    from harness.commands import compare as made
    from harness.comparison.judgement import MIN_EFFECT

    code = made.compare(
        base, new, made.CompareOptions(as_json, as_markdown, as_junit, as_sarif, out),
        across_machines=across_machines, min_effect=min_effect or MIN_EFFECT, quiet=quiet,
    )  # fmt: skip
    raise typer.Exit(code if gate else 0)


def trend(
    runs: Annotated[
        list[Path],
        typer.Argument(help="The folders of two runs or more.", autocompletion=completion.runs),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="A folder for trend.html, trend.csv and the figures.")
    ] = REPORTS / "trend",
) -> None:
    """Show each variant's time or exact counters from run to run, and mark new levels."""
    from harness.commands import trend as drawn

    drawn.trend(runs, out)
