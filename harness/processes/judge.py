"""Check a worker's reports on timed launches, in a process that imports none of the judged code.

A function runs in the process that times it, and can change anything that process does. Therefore
each launch that the worker reports is compared with the results that another process has verified,
and the worker's records are compared with the requested ones, so an extra line that a function
writes into the worker's pipe is detected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.backends.base import KEPT, Seen
from harness.job import Job
from harness.journal.records import Cache, Record, Round

ONE_STATE = 64
"""The number of launches for which the probability that all get the same state is 2^-63."""

_FORGED = "its worker sent {}: something other than the harness wrote them"


class Judge:
    """Judges one worker's job. `failed`: case id → why its reports are not accepted."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._cases = {case.id for case in job.cases}
        self._rounds: set[tuple[str, Cache, int, bool]] = set()
        self._varying: set[str] = set()
        self._launches: Counter[str] = Counter()
        self._states: dict[str, Counter[bool]] = {}
        self.failed: dict[str, str] = {}

    def launched(self, case: str, seen: Sequence[Seen]) -> None:
        """Check a batch, unless its results vary: only the worker has the bounds that such results
        must meet."""
        right = self._job.right.get(case)
        if right is None:
            raise ValueError(f"launches of {case}, which it was not given")
        self._launches[case] += len(seen)
        states = self._states.setdefault(case, Counter())
        states.update(each.is_other for each in seen)
        if right.other and states.total() >= ONE_STATE and len(states) == 1:
            self._fail(case, f"the inputs of its {states.total()} launches were all in one state")
        if right.varies or case in self._varying:
            return
        wrong = [each for each in seen if each.hashes != right.of(each.is_other)]
        if any(right.other and each.hashes == right.of(not each.is_other) for each in wrong):
            self._fail(case, KEPT)
        elif wrong:
            self._fail(case, f"wrong in {len(wrong)} of {len(seen)} timed launches")

    def varies(self, case: str) -> None:
        """Record that a case's results were found to vary during this job, as the run reports."""
        self._varying.add(case)

    def takes(self, record: Record) -> bool:
        """Return whether the job asked for a record; an unexpected round fails its case."""
        if not isinstance(record, Round) or self._job.task != "measure":
            return True
        case = record.case
        is_probe = case in self._job.probes
        known = case in self._cases or is_probe
        if not known or record.placement != self._job.placement:
            raise ValueError(f"a round of {case}, which it was not given")
        key = case, record.cache, record.round, record.repeat
        if key in self._rounds:
            self._fail(case, _FORGED.format("two records of one round"))
            return False
        self._rounds.add(key)
        if is_probe:
            return True
        if self._launches[case] < len(record.samples_ns):
            self._fail(case, _FORGED.format("times of launches that it did not report"))
            return False
        self._launches[case] -= len(record.samples_ns)
        return True

    def _fail(self, case: str, reason: str) -> None:
        self.failed.setdefault(case, f"while timed: {reason}")
