"""The profiling stage of a run: run each passing case once under ncu, and journal the records.

A run that already has its times continues with the cases that ncu has not yet profiled; this stage
changes neither times nor outcomes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cases import Case, how_many
from harness.console.progress import console, stage
from harness.job import Job
from harness.journal.counter_records import Profiled, Uncounted
from harness.journal.records import Record
from harness.ncu.collect import Collector, portions, unfinished
from harness.ncu.command_line import Available, Settings, find, query
from harness.ncu.failures import Failure, ended_in
from harness.ncu.metrics import Selection, catalogue, choose
from harness.ncu.reader import Step, read_apart, records

FOLDER = "profile"
"""The folder within a run's folder for the .ncu-rep files, which NVIDIA's viewer opens."""


@dataclass(frozen=True)
class ProfileOptions:
    """The command line's profiling options.

    `sets`: empty means all. `ncu`: a path, or None to search for it.
    """

    sets: tuple[str, ...] = ()
    ncu: str | None = None
    settings: Settings = field(default_factory=Settings)


def profile(
    wanted: ProfileOptions,
    cases: Sequence[Case],
    job: Callable[[tuple[Case, ...]], Job],
    folder: Path,
    deadline_s: float,
    seen: Iterable[Record],
    keep: Callable[[Record], None],
) -> list[Failure]:
    """Collect the counters that `seen` (the journal so far) lacks; return the failures that
    prevented some of them.

    `job`: makes the worker's job for cases of one problem. Raises UsageError for a set that does
    not exist, before anything runs.
    """
    choose(wanted.sets, None)
    ncu = find(wanted.ncu)
    available = query(ncu) if not isinstance(ncu, Failure) else None
    if isinstance(available, Failure):
        console.print(f"{available.text}\n  metrics are not checked before the run", markup=False)
        available = None
    selection = _selection(wanted.sets, available)
    for key, reason in selection.absent.items():
        console.print(f"{key} is left out: {reason}", markup=False)
    left = unfinished(cases, seen, selection.names())
    if not left:
        return []
    collector = Collector(ncu, selection, wanted.settings, folder / FOLDER, deadline_s, keep)
    parts = portions(left)
    failures: list[Failure] = []
    with stage("profile", len(parts)) as advance:
        for part in parts:
            failed = collector.collect(job(part))
            failures += failed
            first = f"FAILED: {failed[0].text.splitlines()[0]}" if failed else "ok"
            advance(f"{part[0].problem}  {how_many(len(part))}  {first}")
    if not isinstance(ncu, Failure):
        used = collector.selection
        keep(Profiled(
            ncu.version, wanted.settings.cache, wanted.settings.clock,
            available.chip if available else "",
            {used.catalogue.metrics[key].name: name for key, name in used.ask.items()},
            tuple(path.name for path in collector.reports),
        ))  # fmt: skip
    return list(dict.fromkeys(failures))


def _selection(sets: Sequence[str], available: Available | None) -> Selection:
    if available is None:
        return choose(sets, None)
    return choose(sets, available.names, available.chip)


def from_file(path: Path, uncounted: Collection[Uncounted] = ()) -> list[Record] | Failure:
    """Read the records of a report that was collected elsewhere; this needs neither ncu nor a GPU.

    `uncounted`: the figures that a run could not get. If the report has no value for them either,
    they get the report's reason instead of that of an earlier attempt. A case during which ncu
    terminated early is left out, because the report may have only some of its launches.
    """
    found = read_apart(path)
    if isinstance(found, Failure):
        return found
    lacking: dict[Step, set[str]] = defaultdict(set)
    for told in uncounted:
        if not told.reason.startswith("not applicable"):
            lacking[told.case, told.step].add(told.metric)
    cut = {told.case for told in uncounted if ended_in(told.reason, told.case)}
    known = catalogue().by_name().keys()
    kept: list[Record] = []
    for step, counts in found.steps.items():
        if step[0] in cut:
            continue
        values = list(records(step, counts))
        unread = (lacking[step] & known) - {record.metric for record in values}
        kept += [*values, *records(step, counts, sorted(unread))]
    return kept
