"""`report`: redraw a run's tables, figures and pages from its journal; needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import report, tables
from harness.analysis.budgets import checks
from harness.commands.printed import budgets, results
from harness.console.progress import console
from harness.errors import UsageError
from harness.journal.counter_records import Counted, Uncounted
from harness.journal.file import Journal
from harness.ncu import stage
from harness.ncu.failures import Failure
from harness.tables import cards, packed


def redraw(
    folder: Path, ncu: Sequence[Path], single_file: bool, quiet: bool, as_json: Path | None,
    as_markdown: Path | None,
) -> None:  # fmt: skip
    if cards.is_above(folder):
        if ncu or single_file or as_json or as_markdown:
            raise UsageError(
                f"{folder} holds a run per kind of card: only the report can be drawn for all\n"
                f"  to use the other options, name one of its folders"
            )
        for run in cards.load_all(folder).values():
            report.write(run)
        console.print(str(report.write_cards(folder)), markup=False)
        return
    for path in ncu:
        _take_in(folder, path)
    run = tables.load(folder)
    page = report.write(run, single_file)
    results.tell(run, results.OutputOptions(quiet, as_json, as_markdown))
    if not quiet:
        budgets.say(checks(run))
    console.print(str(page), markup=False)


def _take_in(folder: Path, path: Path) -> None:
    """Import the counters of a report that was collected elsewhere into the run's journal, for the
    run's cases."""
    run = tables.load(folder)
    found = stage.from_file(path, run.of(Uncounted))
    if isinstance(found, Failure):
        raise UsageError(f"--ncu {path}: {found.text}")
    ours = [record for record in found if getattr(record, "case", "") in run.planned]
    if not ours:
        raise UsageError(f"--ncu {path}: it has none of the cases of the run {folder}")
    there = {*run.of(Counted), *run.of(Uncounted)}
    packed.unpack(folder)
    with Journal(folder / packed.JOURNAL) as journal:
        for record in ours:
            if record not in there:
                journal.append(record)
