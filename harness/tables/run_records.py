"""The records of one run, by kind and case, and its timings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from harness.console import escaping
from harness.journal.counter_records import Counted, Emulated, MachineCode, SourceLine, Uncounted
from harness.journal.records import (
    Ceiling,
    Compiled,
    Located,
    Outcome,
    Planned,
    Record,
    Remark,
    Round,
    Told,
)
from harness.journal.superseded import current
from harness.statistics.intervals import Interval
from harness.statistics.net_ceilings import ceiling_over_placements
from harness.statistics.net_times import Group
from harness.statistics.timings import Comparison, Timings
from harness.tables.stated_work import completed

NCU_DURATION = "gpu__time_duration.sum"
R = TypeVar("R", bound=Record)
S = TypeVar("S", Compiled, MachineCode)


class RunRecords:
    """The records of one run. `info` is run.json.

    Texts in the records may be untrusted, so they are escaped and cannot act where they are shown:
    see harness/console/escaping.py.
    """

    def __init__(self, folder: Path, info: Mapping[str, Any], records: Iterable[Record]) -> None:
        self.folder, self.info = folder, escaping.data(dict(info))
        self.records = _without_superseded(_of_one_origin(current(map(_inert, records))))
        self.confidence = float(info["timing"]["confidence"])
        self.same_within = float(info["timing"]["same_within"])

    def of(self, kind: type[R]) -> list[R]:
        """The journal's records of one kind, oldest first."""
        return [record for record in self.records if isinstance(record, kind)]

    def _by_step(self, kind: type[S]) -> dict[str, list[S]]:
        """Case → the last record of each of its steps, in order."""
        steps: dict[str, dict[int, S]] = defaultdict(dict)
        for record in self.of(kind):
            steps[record.case][record.step] = record
        return {case: [found[i] for i in sorted(found)] for case, found in steps.items()}

    @cached_property
    def planned(self) -> dict[str, Planned]:
        return {p.case: completed(self.info, p) for p in self.of(Planned)}

    @cached_property
    def outcomes(self) -> dict[str, Outcome]:
        """The last outcome of every case; a case without one was not reached."""
        ended = {record.case: record for record in self.of(Outcome)}
        missing = "not reached: the run ended first"
        return {case: ended.get(case, Outcome(case, "skipped", missing)) for case in self.planned}

    @cached_property
    def compiled(self) -> dict[str, list[Compiled]]:
        """Case → a record for each of its steps; a Python or host function has none."""
        return self._by_step(Compiled)

    @cached_property
    def located(self) -> dict[str, list[Located]]:
        """Case → where it was measured, or counted; empty if everything ran on one machine."""
        found: dict[str, dict[str, list[Located]]] = defaultdict(lambda: defaultdict(list))
        for record in self.of(Located):
            found[record.case][record.stage].append(record)
        return {case: by["measure"] or by["qualify"] for case, by in found.items()}

    @cached_property
    def emulated(self) -> dict[str, Emulated]:
        """Timed case → the source of its counters, if the emulator counted it or should have
        counted it."""
        return {record.case: record for record in self.of(Emulated)}

    def counted_as(self, case: str) -> str:
        """The case whose counters represent this one: itself, or one that is quicker to emulate."""
        found = self.emulated.get(case)
        return found.counted if found and found.counted else case

    @cached_property
    def lines(self) -> dict[str, list[SourceLine]]:
        """Case → the cost of each line of its source, if lines were counted."""
        found: dict[str, list[SourceLine]] = defaultdict(list)
        for record in self.of(SourceLine):
            found[record.case].append(record)
        return dict(found)

    @cached_property
    def machine_code(self) -> dict[str, list[MachineCode]]:
        """Case → the machine instructions of each of its steps, if the emulator executed them."""
        return self._by_step(MachineCode)

    @cached_property
    def ceilings(self) -> dict[str, Ceiling]:
        """The ceilings, each computed over all placements that measured it."""
        probes: dict[str, list[Round]] = defaultdict(list)
        for record in self.of(Round):
            if record.case not in self.planned:
                probes[record.case].append(record)
        cost = self.timings.event_costs.usual().ns
        return {
            record.name: ceiling_over_placements(record, probes[record.case], self.confidence, cost)
            for record in self.of(Ceiling)
        }

    @cached_property
    def is_timed(self) -> bool:
        return any(isinstance(record, Round) for record in self.records)

    @property
    def is_rough(self) -> bool:
        """Return whether the run was made with --quick: one size per problem, and few rounds."""
        return bool((self.info.get("choice") or {}).get("quick"))

    @cached_property
    def timings(self) -> Timings:
        """The rounds, ready to be compared."""
        return Timings(self.records, self.planned, self.outcomes, self.info["timing"])

    def time(self, case: str, cache: str = "cold") -> Interval | None:
        """The case's time in ns, with its interval; None if it was not timed, or not often
        enough."""
        return self.timings.time(case, cache)

    def arithmetic(self, p: Planned) -> str:
        """The arithmetic of the case's flops: its type, unless its variant or problem states
        another."""
        about = (self.info.get("problems") or {}).get(p.problem) or {}
        by_library = (about.get("library_arithmetic") or {}).get(p.dtype) if p.is_library else ""
        return str(p.arithmetic or by_library or about.get("arithmetic") or p.dtype)

    def compare(self, case: str, against: str, cache: str = "cold") -> Comparison:
        """The speed-up of `case` over `against`; both must share problem and sizes."""
        return self.timings.compare(case, against, cache)

    def groups(self) -> dict[Group, list[Planned]]:
        """(problem, dtype, sizes as text) → its cases, the library's last."""
        return self.timings.groups

    @cached_property
    def remarks(self) -> dict[tuple[str, str], list[Remark]]:
        """(problem, variant) → remarks for the reader."""
        found: dict[tuple[str, str], list[Remark]] = defaultdict(list)
        for record in self.of(Remark):
            if record not in found[record.problem, record.variant]:
                found[record.problem, record.variant].append(record)
        return dict(found)

    @cached_property
    def told(self) -> dict[str, dict[str, Told]]:
        """Case → output → what its kernels measured themselves."""
        found: dict[str, dict[str, Told]] = defaultdict(dict)
        for record in self.of(Told):
            found[record.case][record.output] = record
        return dict(found)

    @cached_property
    def shown(self) -> set[str]:
        """The cases with the launch shape at which the pages show their variant."""
        timings = self.timings
        return {p.case for group in timings.groups for p in timings.shown(group)}

    @cached_property
    def tells_what_builds_on_what(self) -> bool:
        """Return whether any variant names the one that it builds on; variants in old runs do
        not."""
        return any(p.builds_on for p in self.planned.values())

    def main_step(self, case: str) -> int:
        """The step that takes longest; without times, the one with the most instructions; otherwise
        0."""
        times = self.timings.step_times(case, "cold")
        if times:
            return max(range(len(times)), key=times.__getitem__)
        return self._heaviest.get(case, 0)

    @cached_property
    def _heaviest(self) -> dict[str, int]:
        """Case → the step with the longest ncu duration or, without one, the most instructions."""
        found: dict[str, tuple[bool, float, int]] = {}
        for r in self.of(Counted):
            if r.metric in {NCU_DURATION, "smsp__inst_executed.sum"}:
                weight = r.metric == NCU_DURATION, r.value, -r.step
                found[r.case] = max(found.get(r.case, weight), weight)
        return {case: -step for case, (_, _, step) in found.items()}


_LINES = ("reason", "text")
"""The fields whose text may have several lines; all others are one line."""


_NUMBERS = (int, float, bool, type(None))


def _inert(record: Record) -> Record:
    changes: dict[str, Any] = {}
    for name, value in vars(record).items():
        kind = type(value)
        if kind in _NUMBERS or (kind is str and escaping.is_plain(value)):
            continue
        safe = escaping.text(value) if name in _LINES else escaping.data(value)
        if safe != value:
            changes[name] = safe
    return replace(record, **changes) if changes else record


def _without_superseded(records: Sequence[Record]) -> list[Record]:
    """Keep the last figure of each counter and of each line: a resumed run may record it again."""
    last: dict[tuple[str | int, ...], Record] = {}
    for record in records:
        if isinstance(record, Counted | Uncounted):
            key = record.case, record.step, record.metric
            if isinstance(record, Counted) or not isinstance(last.get(key), Counted):
                last[key] = record
        elif isinstance(record, SourceLine):
            last[record.case, record.step, record.file, record.line] = record
    kept = {id(record) for record in last.values()}
    told_again = Counted | Uncounted | SourceLine
    return [r for r in records if not isinstance(r, told_again) or id(r) in kept]


def _of_one_origin(records: Sequence[Record]) -> list[Record]:
    """Keep either ncu's readings or the emulator's counts of a timed run, never a mixture.

    Counts of a case outside the run are kept only if they represent one of the run's cases.
    """
    if not any(isinstance(r, Round) for r in records):
        return list(records)
    is_read = any(isinstance(r, Counted) and r.provenance == "ncu" for r in records)
    known = {r.case for r in records if isinstance(r, Planned)}
    known |= {r.counted for r in records if isinstance(r, Emulated)}

    def stands(r: Record) -> bool:
        if isinstance(r, Emulated):
            return not is_read
        if isinstance(r, SourceLine | MachineCode) or (
            isinstance(r, Counted) and r.provenance not in ("ncu", "measured")
        ):
            return not is_read and r.case in known
        return True

    return [r for r in records if stands(r)]
