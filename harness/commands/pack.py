"""`pack`: store a run as compactly as possible, with its pages."""

from __future__ import annotations

import os
from pathlib import Path

from harness import report, tables
from harness.console.progress import console
from harness.errors import UsageError
from harness.tables import packed


def pack(folder: Path, target: Path, only: str, force: bool) -> None:
    there = sorted({p.problem for p in tables.load(folder).planned.values()})
    if only and only not in there:
        raise UsageError(f"--only {only}: the run has {', '.join(there) or 'no problem'}")
    _refuse_another(folder, target, force)
    try:
        packed.pack(folder, target, only)
    except OSError as error:
        raise UsageError(f"{error.filename or target}: {error.strerror}") from None
    console.print(str(report.write(tables.load(target))), markup=False)


def _refuse_another(folder: Path, target: Path, force: bool) -> None:
    """Reject a folder that holds another run, because its journal would be deleted; the run's own
    folder is allowed.
    """
    names = ("run.json", packed.JOURNAL, packed.JOURNAL + packed.ENDING)
    there = [name for name in names if os.path.lexists(target / name)]
    if there and not force and not (target.exists() and target.samefile(folder)):
        raise UsageError(
            f"{target} has a run already ({there[0]}), which packing would replace\n"
            "  name another folder, or use --force"
        )
