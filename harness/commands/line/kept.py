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
        typer.Option("--ncu", help="A .ncu-rep whose figures to add to the journal. Repeatable."),
    ] = [],  # noqa: B006
    single_file: Annotated[
        bool,
        typer.Option("--single-file", help="Write all pages to one file, to send or to attach."),
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
        Path, typer.Argument(help="The packed run's folder; files that pages share go beside it.")
    ],
    only: Annotated[str, typer.Option("--only", help="Pack only this problem of several.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run that is in the target.")
    ] = False,
) -> None:
    """Pack a run for a repository, with its journal compressed and pages that share their assets.

    The run itself is not changed. Reports of Nsight Compute are left out, because their figures are
    in the journal.
    """
    from harness.commands import pack as packing

    packing.pack(folder, target, only, force)


def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="The folder of the run to compare with; or, alone, a run that has both sides.",
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
            help="Compare runs from different machines, each relative to its own baseline.",
        ),
    ] = False,
    min_effect: MinEffect = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the answer.")] = False,
    as_json: ComparisonJson = None,
    as_markdown: ComparisonMarkdown = None,
    as_junit: ComparisonJunit = None,
    as_sarif: ComparisonSarif = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The page; by default comparison.html in the new run's folder."),
    ] = None,
) -> None:
    """Show what became slower, worse or faulty from one run to another, and what else changed.

    Exit code 0; with --gate, 0 if nothing is slower, worse or newly faulty, 1 if something is, 2 if
    the command is wrong, and 3 if the comparison is inconclusive.
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
        typer.Argument(help="The folders of two or more runs.", autocompletion=completion.runs),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="The folder for trend.html, trend.csv and the figures.")
    ] = REPORTS / "trend",
) -> None:
    """Show each variant's time or exact counters from run to run, and mark new levels."""
    from harness.commands import trend as drawn

    drawn.trend(runs, out)
