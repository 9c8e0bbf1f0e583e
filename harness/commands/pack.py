"""`pack`: store a run as compactly as possible, with its pages."""

from __future__ import annotations

import os
from pathlib import Path

from harness import report, tables
from harness.console.progress import console
from harness.errors import UsageError
from harness.files import scratch
from harness.journal import run_files
from harness.journal.storage import move_in, unwritten
from harness.tables import packed

_STALE = (packed.JOURNAL, packed.COUNTERS, "budgets.csv")
"""The files of a replaced run that a packed run may not have."""
_DRAWN = {"problems": ".html", "figures": ".png"}


def pack(folder: Path, target: Path, only: str, force: bool) -> None:
    there = sorted({p.problem for p in tables.load(folder).planned.values()})
    if only and only not in there:
        raise UsageError(f"--only {only}: the run has {', '.join(there) or 'no problem'}")
    is_same = target.exists() and target.samefile(folder)
    if only and is_same:
        raise UsageError(
            f"--only {only}: {target} is the run's own folder, and its other problems would be "
            "deleted; name another target"
        )
    if not is_same and not force:
        _refuse_another(target)
    try:
        if is_same:
            packed.pack(folder, target)
            report.write(tables.load(target))
        else:
            _replace(folder, Path(os.path.realpath(target)), only)
    except OSError as error:
        raise UsageError(f"{error.filename or target}: {error.strerror}") from None
    console.print(str(target / "report.html"), markup=False)


def _replace(folder: Path, home: Path, only: str) -> None:
    """Pack into a folder beside the target, and move what it has into the target once it is
    whole."""
    if not home.parent.exists():
        home.parent.mkdir(parents=True)
    with unwritten(home / packed.JOURNAL), scratch.folder(home.parent) as new:
        try:
            packed.pack(folder, new, only)
            report.write(tables.load(new))
            drawn = {below: {path.name for path in (new / below).glob("*")} for below in _DRAWN}
            move_in(new, home, "run.json", _STALE)
        except OSError as error:  # the folder is not there any more
            error.filename = str(error.filename or home).replace(str(new), str(home))
            raise
        for below, ending in _DRAWN.items():
            run_files.keep_only(home, below, ending, drawn[below])


def _refuse_another(target: Path) -> None:
    """Reject a folder that holds another run, because its journal would be deleted."""
    names = ("run.json", packed.JOURNAL, packed.JOURNAL + packed.ENDING)
    there = [name for name in names if os.path.lexists(target / name)]
    if there:
        raise UsageError(
            f"{target} has a run already ({there[0]}), which packing would replace\n"
            "  name another folder, or use --force"
        )
