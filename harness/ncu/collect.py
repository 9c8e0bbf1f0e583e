"""Run ncu over the project's own worker, one batch of cases at a time.

One process profiles many cases, because starting one takes seconds. A crash or a hang loses at most
the running case: ncu writes the results so far when the worker dies, and the remaining cases are
tried again without that case.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from harness.cases import Case
from harness.files import scratch
from harness.job import JOB, Job
from harness.journal import run_files
from harness.journal.counter_records import Counted, Uncounted
from harness.journal.records import Record
from harness.ncu.command_line import Ncu, Settings, command
from harness.ncu.failures import NO_KERNEL, Ending, Failure, explain, no_report, refused_metrics
from harness.ncu.metrics import Selection
from harness.ncu.reader import Counts, Report, Step, read_apart, records
from harness.processes.children import Child

PORTION = 64
"""The maximum number of cases per process, which is also the number that a lost report can cost.
Starting a process takes as long as 40 cases."""

TRIES = 3
"""The number of processes that a portion may crash before its remaining cases are abandoned."""

_GRACE_S = 30.0
"""The time that ncu may take to write its report after its worker has been ended."""

_POLL_S = 0.05
_TAIL = 20_000
"""The number of characters of ncu's output that are examined."""


def portions(cases: Iterable[Case], most: int = PORTION) -> list[tuple[Case, ...]]:
    """Divide the cases into portions of at most this size. Each has cases of one problem, with
    those that share inputs next to each other."""
    ordered = sorted(cases, key=lambda case: (case.problem, case.group))
    found = []
    for _, of_problem in groupby(ordered, key=lambda case: case.problem):
        same = tuple(of_problem)
        found += [same[i : i + most] for i in range(0, len(same), most)]
    return found


def steps(case: Case) -> list[tuple[Step, str]]:
    """Each step with its kernel's name; a function is one step with an unknown kernel."""
    if not case.steps:
        return [((case.id, 0), "")]
    return [((case.id, index), step.kernel) for index, step in enumerate(case.steps)]


def unfinished(cases: Iterable[Case], seen: Iterable[Record], names: Sequence[str]) -> list[Case]:
    """The cases that lack figures that another try in a resumed run could get."""
    settled: dict[Step, set[str]] = defaultdict(set)
    for record in seen:
        known = isinstance(record, Counted) and record.provenance == "ncu"
        if known or (isinstance(record, Uncounted) and record.reason.startswith("not applicable")):
            settled[record.case, record.step].add(record.metric)  # type: ignore[union-attr]
    return [
        case
        for case in cases
        if any(not settled[step].issuperset(names) for step, _ in steps(case))
    ]


def file_name(cases: Sequence[Case], part: int) -> str:
    """A report's file name, without characters that ncu (%) or a shell would expand."""
    return re.sub(r"[^\w.=-]+", "-", f"{cases[0].problem}-{part}") + ".ncu-rep"


def _without_part(found: Report, cases: Iterable[Case], at: str) -> Report:
    """Leave out the case during which ncu ended, if that case is a function.

    A function may launch any number of kernels. The report may have only some of its launches, so
    the sum over these would not be the function's figure.
    """
    cut = {step for case in cases if case.id == at and not case.steps for step, _ in steps(case)}
    return replace(found, steps={step: c for step, c in found.steps.items() if step not in cut})


@dataclass
class Collector:
    """Profiles batches of cases with the same ncu, metrics and settings, and passes on their
    records.

    `starting` is called with each case that starts. After a failure that would affect every case,
    such as forbidden counters, nothing more is started, and the other cases get the same reason.
    """

    ncu: Ncu | Failure
    selection: Selection
    settings: Settings
    folder: Path
    deadline_s: float
    keep: Callable[[Record], None]
    starting: Callable[[str], None] = lambda case: None
    grace_s: float = _GRACE_S
    reports: list[Path] = field(default_factory=list)
    """The files that were written and could be read."""
    _hopeless: Failure | None = None

    def collect(self, job: Job) -> list[Failure]:
        """Profile the job's cases; return what went wrong, empty if every case was read."""
        if isinstance(self.ncu, Failure):
            self._hopeless = self.ncu
        rest, failures, tries = job.cases, list[Failure](), 0
        while rest:
            if self._hopeless:
                self._give_up(rest, self._hopeless)
                return [*failures, self._hopeless]
            report, ending = self._run(replace(job, cases=rest))
            if self._narrowed(ending):
                report.unlink(missing_ok=True)
                continue
            failure, found = self._read(report, ending)
            if failure and failure.hopeless:
                self._hopeless = failure
                continue
            if failure and found:
                found = _without_part(found, rest, ending.at)
            lost = [case for case in rest if not self._keep(case, found)]
            if failure is None:
                self._give_up([case for case in lost if not case.steps], NO_KERNEL)
                lost = [case for case in lost if case.steps]
                if not lost:
                    return failures
                failure = Failure("no report", "the report has no launch of this step")
            failures.append(failure)
            tries += 1
            guilty = [case for case in lost if case.id == ending.at]
            again = failure.kind in ("crashed", "late") and guilty and tries < TRIES
            given_up = guilty if again else lost
            self._give_up(given_up, failure, found)
            rest = tuple(case for case in lost if case not in given_up)
        return failures

    def _narrowed(self, ending: Ending) -> bool:
        """Return whether ncu named metrics that it rejects. These are dropped, and the rest are
        requested again."""
        refused = refused_metrics(ending.said)
        narrower = self.selection.without(refused, "not applicable: ncu has no such metric here")
        if len(narrower.ask) == len(self.selection.ask):
            return False
        self.selection = narrower
        if not narrower.ask:
            self._hopeless = Failure("broken", "ncu has none of the metrics asked for")
        return True

    def _read(self, report: Path, ending: Ending) -> tuple[Failure | None, Report | None]:
        """Read the report's contents, and what went wrong; after a crash there may be both."""
        failure = explain(ending)
        if not report.exists():
            return failure or no_report(ending), None
        found = read_apart(report)
        if isinstance(found, Failure):
            return failure or found, None
        self.reports.append(report)
        return failure, found

    def _keep(self, case: Case, found: Report | None) -> bool:
        """Pass on the case's figures if the report has all of its steps; return whether it does."""
        wanted = steps(case)
        if found is None or any(step not in found.steps for step, _ in wanted):
            return False
        for step, kernel in wanted:
            self._hand_on(step, kernel, found.steps[step])
        return True

    def _hand_on(self, step: Step, kernel: str, counts: Counts) -> None:
        absent = self.selection.absent
        told = {key: absent.get(key, reason) for key, reason in counts.reasons.items()}
        for key in self.selection.derived:
            lacking = [n for n in self.selection.catalogue.derived[key].needs if n in absent]
            if lacking:
                told[key] = absent[lacking[0]]
        counts = replace(counts, reasons=told)
        for record in records(step, counts, self.selection.names(), kernel):
            self.keep(record)

    def _give_up(
        self, cases: Iterable[Case], failure: Failure, found: Report | None = None
    ) -> None:
        """Pass on the report's figures for these cases, and a reason for every figure that it
        lacks."""
        metrics = self.selection.catalogue.metrics
        absent = {metrics[key].name: reason for key, reason in self.selection.absent.items()}
        for case in cases:
            for step, kernel in steps(case):
                if found and step in found.steps:
                    self._hand_on(step, kernel, found.steps[step])
                    continue
                for name in self.selection.names():
                    self.keep(Uncounted(*step, name, absent.get(name, failure.reason)))

    def _run(self, job: Job) -> tuple[Path, Ending]:
        """Run one ncu process to its end or its deadline."""
        assert not isinstance(self.ncu, Failure)
        run_files.make_folder(self.folder.parent, self.folder.name)
        part = 1
        while os.path.lexists(report := self.folder / file_name(job.cases, part)):
            part += 1
        with scratch.folder() as own:
            job_file, lines = own / "job.json", own / "lines"
            job_file.write_bytes(JOB.dump_json(job))
            lines.touch()
            # A file for the worker's lines, because ncu might not pass on open descriptors.
            program = [sys.executable, "-m", "harness.worker", str(job_file), str(lines)]
            asked = list(self.selection.ask.values())
            run = _Process(
                command(self.ncu, asked, report, self.settings, program),
                own / "output", lines, self.starting,
            )  # fmt: skip
            return report, run.wait(self.deadline_s, self.grace_s)


class _Process:
    """ncu and its worker, in their own session."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        lines: Path,
        starting: Callable[[str], None],
    ) -> None:
        self._command, self._output, self._lines = command, output, lines
        self._starting = starting
        self._read_up_to = 0
        self._worker = 0
        self._at = self._error = ""

    def wait(self, deadline_s: float, grace_s: float) -> Ending:
        with self._output.open("wb") as output:
            try:
                child = Child(self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            except OSError as error:
                return Ending(127, f"==ERROR== {self._command[0]}: {error.strerror}")
        late = False
        try:
            if not self._ends_within(child, deadline_s):
                late = True
                self._end_worker()
                self._ends_within(child, grace_s)
        finally:
            code = child.end()
        self._listen()
        said = self._output.read_text(errors="replace")[-_TAIL:]
        return Ending(None if late else code, said, self._at, self._error, deadline_s)

    def _ends_within(self, child: Child, seconds: float) -> bool:
        """Wait for ncu to end; return False if a case takes longer than this."""
        end, at = time.monotonic() + seconds, self._at
        while not child.ends_within(_POLL_S):
            self._listen()
            if self._at != at:
                end, at = time.monotonic() + seconds, self._at
            if time.monotonic() >= end:
                return False
        return True

    def _end_worker(self) -> None:
        """End only the worker, so that ncu notices and writes its results so far.

        The worker's process id may have been reused: a process that was not started with this job's
        file is not killed.
        """
        with contextlib.suppress(OSError):
            started_with = Path(f"/proc/{self._worker}/cmdline").read_bytes().split(b"\0")
            if os.fsencode(self._lines) in started_with:
                os.kill(self._worker, signal.SIGKILL)

    def _listen(self) -> None:
        """Read the worker's new output; an incomplete line is left for later."""
        with self._lines.open("rb") as file:
            file.seek(self._read_up_to)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read_up_to += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            word, _, rest = line.partition(" ")
            if word == "now":
                self._at = rest
                self._starting(rest)
            elif word == "pid" and rest.isdecimal():
                self._worker = int(rest)
            elif word == "error":
                self._error = rest.replace("\\n", "\n")
