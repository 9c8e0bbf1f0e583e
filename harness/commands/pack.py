"""`pack`: a run as small as it can be kept, with its pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness import report, tables
from harness.commands import completion
from harness.errors import UsageError
from harness.progress import console
from harness.tables import packed


def pack(
    folder: Annotated[Path, typer.Argument(help="A run's folder.", autocompletion=completion.runs)],
    target: Annotated[
        Path, typer.Argument(help="Where the packed run goes; what pages share goes beside it.")
    ],
    only: Annotated[str, typer.Option("--only", help="Of several problems, this one alone.")] = "",
) -> None:
    """Keep a run in a repository: its journal compressed, and pages that share their assets.

    The run itself stays. Left out are the reports of Nsight Compute: their figures are in the
    journal.
    """
    there = sorted({p.problem for p in tables.load(folder).planned.values()})
    if only and only not in there:
        raise UsageError(f"--only {only}: the run has {', '.join(there) or 'no problem'}")
    try:
        packed.pack(folder, target, only)
    except OSError as error:
        raise UsageError(f"{error.filename or target}: {error.strerror}") from None
    console.print(str(report.write(tables.load(target))), markup=False)
