"""The parts of a run that a work item needs. A TaskRunner has all of them; stand-ins in tests have
fewer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from harness.cases import Case
from harness.job import Job
from harness.journal.records import Record
from harness.processes.workers import Ended
from harness.statistics.timings import Timings

Keep = Callable[[Record], None]
"""A function that writes a record, which the journal's state includes from then on."""


class Surroundings(Protocol):
    @property
    def is_timed(self) -> bool:
        """Return whether the backend can time launches."""
        ...

    @property
    def is_stopped(self) -> bool: ...

    def job(self, task: str, **more: object) -> Job:
        """Return a worker's job with the files compiled for its cases."""
        ...

    def do(self, job: Job, more_s: float = 0) -> Ended:
        """Run a job in a worker. `more_s`: the seconds that each step may take beyond
        `limits.launch_s`."""
        ...

    def qualify(self, job: Job, keep: Keep) -> Ended: ...

    def with_the_device(self, job: Job, deadline_s: float, keep: Keep) -> Ended: ...

    def keep(self, record: Record) -> None: ...

    def is_open(self, case: Case) -> bool:
        """Return whether the case has no outcome yet."""
        ...

    def finish(
        self,
        case: Case,
        status: str,
        reason: str = "",
        again: bool = False,
        limits: Sequence[str] = (),
    ) -> None:
        """Give the case its outcome. `again` and `limits` determine when a resumed run repeats the
        case."""
        ...

    def timings(self, cases: Sequence[Case]) -> Timings:
        """Return the timings of these cases so far."""
        ...
