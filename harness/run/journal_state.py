"""The state of a run's journal: the work that does not have to be repeated, and the timings so
far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from harness.cases import Case, Shape
from harness.journal.counter_records import Counted, Emulated, Uncounted
from harness.journal.records import (
    Ceiling,
    EventCost,
    Finished,
    Outcome,
    Planned,
    Record,
    Renewed,
    Round,
    Verified,
)
from harness.journal.superseded import AT_TEST_SIZES
from harness.run.qualification import shape_of
from harness.statistics.timings import Timings


class JournalState:
    """An index of the records that existed when a run began, and of those that the run has added.

    `groups`: case → the group that it is timed with.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        self._groups = groups
        self.planned: dict[str, Planned] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.ceilings: dict[str, Ceiling] = {}
        self.counts: list[Record] = []
        self.emulated: dict[str, Emulated] = {}
        self.stages: set[str] = set()
        self.verified: dict[Shape, list[Verified]] = defaultdict(list)
        """Verifications at test sizes."""
        self.next_placement: dict[str, int] = defaultdict(int)
        """The next placement of each group."""
        self._rounds: dict[str, list[Round]] = defaultdict(list)
        self._event_costs: dict[str, list[EventCost]] = defaultdict(list)

    def note(self, record: Record) -> None:
        if isinstance(record, Outcome):
            self.outcomes[record.case] = record
        elif isinstance(record, Counted | Uncounted):
            self.counts.append(record)
        elif isinstance(record, Emulated):
            self.emulated[record.case] = record
        elif isinstance(record, Finished):
            self.stages.add(record.stage)
        elif isinstance(record, Verified) and record.phase in AT_TEST_SIZES:
            self.verified[shape_of(record)].append(record)
        elif isinstance(record, Ceiling):
            self.ceilings[record.name] = record
        elif isinstance(record, EventCost):
            self._event_costs[record.group].append(record)
        elif isinstance(record, Planned):
            self.planned[record.case] = record
        elif isinstance(record, Round) and record.case in self.planned:
            self._rounds[record.case].append(record)
            group = self._groups[record.case]
            self.next_placement[group] = max(self.next_placement[group], record.placement + 1)
        elif isinstance(record, Renewed):
            self.outcomes.pop(record.case, None)
            self.emulated.pop(record.case, None)
            self._rounds.pop(record.case, None)
            self.next_placement.pop(self._groups.get(record.case, ""), None)

    @property
    def is_read(self) -> bool:
        """Return whether Nsight Compute read any counter; the emulator's counts are never mixed
        with its readings."""
        return any(isinstance(r, Counted) and r.provenance == "ncu" for r in self.counts)

    def is_emulated(self, case: str) -> bool:
        """Return whether a timed case has counters from the emulator."""
        return case in self.emulated and bool(self.emulated[case].counted)

    def about(self, cases: Sequence[Case]) -> list[Record]:
        """The records from which a work item with these cases resumes: those of its group, and the
        ceilings."""
        groups = {case.group for case in cases}
        planned = [p for group in groups for p in self.in_group(group)]
        rounds = [r for p in planned for r in self._rounds.get(p.case, ())]
        costs = [cost for group in groups for cost in self._event_costs.get(group, ())]
        ended = [self.outcomes[p.case] for p in planned if p.case in self.outcomes]
        return [*planned, *self.ceilings.values(), *costs, *rounds, *ended]

    def in_group(self, group: str) -> list[Planned]:
        return [p for case, p in self.planned.items() if self._groups.get(case) == group]

    def timings(self, cases: Sequence[Case], timing: Mapping[str, Any]) -> Timings:
        """The timings of these cases so far. `timing`: as in run.json."""
        wanted = {case.id for case in cases}
        planned = {name: p for name, p in self.planned.items() if name in wanted}
        outcomes = {name: Outcome(name, "ok") for name in planned}
        rounds = [r for name in wanted for r in self._rounds[name]]
        costs = [c for group in {case.group for case in cases} for c in self._event_costs[group]]
        return Timings([*costs, *rounds], planned, outcomes, timing)
