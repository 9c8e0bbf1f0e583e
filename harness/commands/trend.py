"""`trend`: plot each variant's time or counters over many runs, and mark new levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import tables
from harness.comparison.history import history
from harness.console.progress import console
from harness.errors import UsageError

MOST_TOLD = 20


def trend(runs: Sequence[Path], out: Path) -> None:
    if len(set(runs)) < 2:
        raise UsageError("a trend needs two runs or more\n  name them: trend reports/2026*")
    if (out / "run.json").exists():
        raise UsageError(f"--out {out}: it is a run's folder; name a different one")
    from harness.report.comparison import trend as page  # its figures take a second to import

    found = history([tables.load(path) for path in dict.fromkeys(runs)])
    try:
        home = page.write(found, out)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None
    for run, device in found.apart:
        console.print(f"left out: {run.folder} is of {device}", markup=False)
    lines = list(page.told(found))
    for text in lines[:MOST_TOLD]:
        console.print(text, markup=False)
    if len(lines) > MOST_TOLD:
        console.print(f"and {len(lines) - MOST_TOLD} more")
    console.print(page.headline(found), style="bold")
    console.print(str(home), markup=False)
