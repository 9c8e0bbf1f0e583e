"""Run work items on one device, with its worker processes and the journal's state so far.

A run on this machine has one task runner. A distributed run has one for each work item that it
sends, whose records are copied into the run's own journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from harness.cases import Case, Device, how_many
from harness.compiler.compile import Built
from harness.errors import DeviceLost
from harness.job import Job
from harness.journal.records import Outcome, Record
from harness.matrix.written import Limits, Timing
from harness.measure.ceilings import PROBED
from harness.problem import Work
from harness.processes.slots import Slot, on_this_machine
from harness.processes.workers import DESCRIBE_S, Ended, Workers
from harness.run.drawing import Drawing
from harness.run.emulated.counting import Counting
from harness.run.journal_state import JournalState
from harness.run.measurement import Effort, Measurement
from harness.run.qualification import Qualification
from harness.run.surroundings import Keep
from harness.statistics.net_times import placements_that_choose
from harness.statistics.timings import Timings

CEILINGS_S = 120
"""Deadline for measuring the machine's ceilings."""

_ON_THE_DEVICE = 2
"""Device memory to allow for a group that is prepared, as a multiple of the size of its inputs on
disk: two sets of buffers, two states of the inputs, and references and bounds in float64."""


@dataclass(frozen=True)
class RunSettings:
    """The settings that all work items of a run share. `fresh`: a number unique to this run; see
    Job."""

    backend: str
    device: Device
    kernels: Path
    limits: Limits
    timing: Timing
    fresh: int = 0

    @property
    def is_timed(self) -> bool:
        """Return whether the backend can time launches."""
        return self.backend != "emulator"


@dataclass(frozen=True)
class WorkItem:
    """Work that is done in one place from beginning to end.

    qualify: one variant alone, at its test sizes and, on the emulator, at the counted sizes.
    prepare: the first part of a measurement, which times nothing: all variants at the timed size.
    ceilings: the device's best rates.
    measure: one comparison, that is, all variants of a problem at a type and a size, with all their
    launch shapes, so that the cases share rounds and a GPU.
    count: timed cases, counted in the emulator.
    """

    kind: Literal["qualify", "prepare", "ceilings", "measure", "count"]
    name: str
    cases: tuple[Case, ...] = ()
    tests: tuple[Case, ...] = ()
    """The test sizes that a qualification can run."""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    """Case → why the emulator does not count it, for a qualification."""
    baseline: str = ""
    needed_bytes: int = 0
    """The disk space that a measurement's inputs take while it lasts, in bytes."""
    works: Mapping[str, Work] = field(default_factory=dict)
    """Group → its work model, needed for cases that are counted."""


class TaskRunner:
    """Runs work items, one after another or several at a time, and passes on their records.

    `known`: the state of the records so far, including those that the runner adds. `built`: case →
    its compiled code.
    """

    def __init__(
        self,
        setting: RunSettings,
        known: JournalState,
        built: dict[str, Built],
        keep: Keep,
    ) -> None:
        self.setting, self.known, self.built = setting, known, built
        self.workers = Workers()
        self.slots = on_this_machine(setting.device)
        self._keep = keep
        self.took: Callable[[WorkItem, float], None] = lambda item, seconds: None
        """A function called with the time, in seconds, that each work item took."""
        self.drawing: Drawing | None = None
        """Generates data ahead for the groups that are measured on this machine; None if data is
        generated only when needed."""
        self._prepared: dict[str, tuple[Measurement, ExitStack]] = {}
        """Group → its measurement, which waits for its turn, and the resources that it holds until
        then."""
        self._probed: set[str] = set()
        """Seats (see Job) whose processes have measured the ceilings."""
        self.runs_several = False
        """True if work items are done concurrently, as when nothing is timed."""
        self.keeps_processes = False
        """True if workers may wait for the next work item; the code that sets this also dismisses
        them."""

    def carry_out(self, item: WorkItem, cores: int = 1) -> str:
        """Do the work item; return the result in a word or two. Raises DeviceLost."""
        began = monotonic()
        said = self._carry_out(item, cores)
        self.took(item, monotonic() - began)
        return said

    def _carry_out(self, item: WorkItem, cores: int) -> str:
        if item.kind == "qualify":
            return Qualification(self, item.cases, item.tests, cores, item.uncounted).carry_out()
        if item.kind == "count":
            return Counting(self, item.cases, item.works, cores).carry_out()
        if item.kind == "ceilings":
            return self.with_the_device(self.job("ceilings"), CEILINGS_S, self.keep).reason
        if item.kind == "prepare":
            self._prepare(item)
        else:
            self._measure(item)
        return how_many(len(item.cases))

    def hand_to(self, keep: Keep) -> None:
        """Pass all further records to `keep`."""
        self._keep = keep

    def most_at_once(self, items: Sequence[WorkItem]) -> int | None:
        """The number of these items that fit in device memory at once; None for no limit.

        For items that have only test sizes, the number of slots is the limit.
        """
        room, largest = self.setting.device.room, max((i.needed_bytes for i in items), default=0)
        if room is None or not largest:
            return None
        return max(1, room.device_free // (room.device_taken + _ON_THE_DEVICE * largest))

    def let_go(self) -> None:
        """Discard the groups that were prepared but not measured."""
        while self._prepared:
            self._prepared.popitem()[1][1].close()

    def _prepare(self, item: WorkItem) -> None:
        group = item.cases[0].group
        with ExitStack() as until:
            drawn = until.enter_context(self.drawing.of(group)) if self.drawing else None
            measurement = Measurement(
                self, item.cases, item.baseline, self._effort(group),
                self.known.next_placement[group], item.needed_bytes, drawn,
            )  # fmt: skip
            until.enter_context(measurement.prepared())
            self._prepared[item.name] = measurement, until.pop_all()

    def _measure(self, item: WorkItem) -> None:
        if item.name not in self._prepared:
            self._prepare(item)
        measurement, until = self._prepared.pop(item.name)
        with until:
            # Only at this point is it known whether processes may wait for the next group.
            measurement.effort = self._effort(item.cases[0].group)
            measurement.measure()

    def _effort(self, group: str) -> Effort:
        timing = self.setting.timing
        choosing = placements_that_choose(self.known.in_group(group), timing.choosing)
        return Effort(
            timing.looks, choosing, timing.rounds_per_placement, timing.batch, timing.interval,
            self.setting.limits.measure_s,
            shared=timing.shared_processes and self._has_room(max(timing.looks) + choosing),
        )  # fmt: skip

    def _has_room(self, placements: int) -> bool:
        """Return whether all processes that make one group's placements may wait at the same
        time."""
        most = self.slots.fitting
        return self.keeps_processes and (most is None or most > placements + 1)

    # The parts of the run that a qualification and a measurement need

    def keep(self, record: Record) -> None:
        self._keep(record)

    @property
    def is_timed(self) -> bool:
        return self.setting.is_timed

    @property
    def is_stopped(self) -> bool:
        return self.workers.stopped

    def is_open(self, case: Case) -> bool:
        return case.id not in self.known.outcomes

    def finish(
        self, case: Case, status: str, reason: str = "", again: bool = False,
        limits: Sequence[str] = (), stage: str = "",
    ) -> None:  # fmt: skip
        """Give the case its outcome. `again` and `limits` determine when a resumed run repeats the
        case. `stage`: the stage in which it ended. See Outcome."""
        values = {name: float(getattr(self.setting.limits, name)) for name in limits}
        self.keep(Outcome(case.id, status, reason, again, values, stage))  # type: ignore[arg-type]

    def timings(self, cases: Sequence[Case]) -> Timings:
        """The timings of these cases so far."""
        return self.known.timings(cases, timing_of(self.setting.timing))

    def qualify(self, job: Job, keep: Callable[[Record], None]) -> Ended:
        return self.with_the_device(job, self.setting.limits.qualify_s, keep)

    def do(self, job: Job, more_s: float = 0) -> Ended:
        return self.with_the_device(job, self.setting.limits.launch_s + more_s, self.keep)

    def with_the_device(self, job: Job, deadline_s: float, keep: Callable[[Record], None]) -> Ended:
        """Do a job. Raises DeviceLost if the job ended because of the GPU rather than a case.

        A GPU that falls off its bus may look like a fault or an endless loop of the running kernel.
        Therefore the GPU is checked for a response before a failure is attributed to a case.
        """
        ended = self._beside_others(job, deadline_s, keep)
        if not ended.reason or not self.is_timed or self.workers.stopped:
            return ended
        if ended.lost:
            raise DeviceLost(ended.reason)
        if not (ended.killed or ended.no_memory):
            asked = self.workers.do(self.job("describe"), DESCRIBE_S)
            if asked.reason and not (asked.no_memory or self.workers.stopped):
                raise DeviceLost(f"{asked.reason} (after {ended.at or job.task}: {ended.reason})")
        return ended

    def _beside_others(self, job: Job, deadline_s: float, keep: Callable[[Record], None]) -> Ended:
        """Run a job as soon as there is a slot for its worker.

        If a worker runs out of memory while others run, fewer workers run afterwards. If its share
        of the machine's memory was too small, its job waits until it can have all of it. A job that
        had not begun is started again; after any other end, the caller continues with the remaining
        cases.
        """
        alone = False
        while True:
            with self.slots.one(alone) as slot:
                if alone:
                    self.workers.dismiss()
                if job.task == "qualify" or (job.task == "prepare" and self.runs_several):
                    job = replace(job, most_bytes=slot.part, seat=self._seat_of(job, slot))
                ended = self.workers.do(job, deadline_s, keep)
                if ended.part_too_small and slot.part is not None:
                    alone = True
                    continue
                short = ended.no_memory or (ended.killed and not self.workers.stopped)
                others_waited = bool(ended.no_memory and self.workers.dismiss())
                if not (short and (slot.had_company or others_waited)):
                    return ended
                if slot.had_company:
                    self.slots.shrink()
                    self.workers.dismiss()
            if ended.at:
                return replace(ended, crowded=True)

    def _seat_of(self, job: Job, slot: Slot) -> str:
        """The seat (see Job) of a process that waits for the next variant with its context; empty
        for a new process.

        Creating a context takes a second or two if all cores create one at the same time. Side
        effects that a variant's own functions have in a process must not affect another variant.
        """
        if not self.is_timed:
            return ""  # a process without a context starts at once
        seat = f"{job.task} {slot.number}"
        if all(case.kind == "kernel" or case.is_library for case in (*job.tests, *job.cases)):
            return seat
        self.workers.dismiss(seat)  # which would hold the memory of a second process in this slot
        return ""

    def job(self, task: str, **more: object) -> Job:
        """A worker's job on these cases, with their compiled files."""
        setting = self.setting
        job = Job(
            task=task,  # type: ignore[arg-type]
            backend=setting.backend,
            arch=setting.device.arch,
            kernels=setting.kernels,
            seed=setting.timing.seed,
            fresh=setting.fresh,
            flush=setting.timing.flush,
            probes=tuple(c.case for c in self.known.ceilings.values() if c.name in PROBED),
        )
        job = replace(job, **more)  # type: ignore[arg-type]
        if job.seat and job.task == "measure":  # a process reports the card once
            job = replace(job, probes=() if job.seat in self._probed else job.probes)
            self._probed.add(job.seat)
        used = {case.id for case in (*job.tests, *job.cases)}
        return replace(job, built={k: b for k, b in self.built.items() if k in used})


def timing_of(timing: Timing) -> dict[str, Any]:
    """The measurement method, for run.json and for code that reads the rounds."""
    return {**timing.model_dump(mode="json"), "looks": len(timing.looks)}
