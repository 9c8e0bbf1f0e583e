"""Prepare a group on a device that can time launches, and time it in a placement.

One process prepares: it verifies every case at the timed size, on two sets of inputs, records the
hashes of correct results, and leaves the first set on disk. Then any number of processes time the
cases. Each has a context and memory of its own, loads the inputs from disk, and compares every
launch with the verified results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from harness.backends.base import Array, Right, TimedWorkspace, TimingBackend
from harness.cases import Case
from harness.compiler.functions.torch_compile import COMPILE_S
from harness.errors import LaunchError, NotInstalled, OutOfMemory
from harness.job import Job, Telling
from harness.journal.records import EventCost, Outcome, Record, Remark, Told, Verified
from harness.machine.conditions import Sensors
from harness.measure import ceilings
from harness.measure.rounds import CACHES, Entry, Hooks, measure
from harness.ncu import ranges
from harness.problem import Buffer, Problem, loading
from harness.statistics import event_cost
from harness.worker.inputs import OTHER, Inputs, Scratch, by_group, draws_when_timed, generator
from harness.worker.own_code import OwnCode
from harness.worker.states import other_state

_READ = 5
"""The number of launches from which a kernel's own readings are taken."""
_NAMED = 4
"""The maximum number of kernels in a library call that are listed by name."""
CHANGED = ", with a few numbers of its inputs changed"
"""The end of the reason for failing a case that is right for the typical inputs but not for their
other state. If numbers of an input cannot replace each other freely, problem.py states that in
`changed_together`."""

DRAWING_S = 600.0
"""Deadline in seconds for generating data: inputs and references of the largest size take a
while."""


def draw(job: Job, tell: Telling) -> None:
    """Write a group's inputs and references to disk, before its cases are prepared."""
    first = job.cases[0]
    problem = loading.load(job.kernels / first.problem)
    tell.now("", DRAWING_S)
    for number in draws_when_timed(problem):
        inputs, scratch = _drawn(job, first, number), _scratch(job, number)
        scratch.keep("input", inputs.values)
        scratch.keep_bounds(inputs)
        if number == problem.timed_draw:
            buffers = problem.buffers(first.sizes, first.dtype)
            other = _other_state(problem, first, inputs, buffers, scratch)
            if other:
                scratch.keep_bounds(other, OTHER)
        tell.drawn(number, scratch.hashes())


def prepare(job: Job, backend: TimingBackend, tell: Telling) -> None:
    """Verify a group's cases at the timed size, and record the outcome of those that fail."""
    first = job.cases[0]
    problem = loading.load(job.kernels / first.problem)
    buffers = problem.buffers(first.sizes, first.dtype)
    tell.now("", DRAWING_S)
    with ThreadPoolExecutor() as pool:
        unlike = pool.submit(_there_or_drawn, job, buffers, draws_when_timed(problem)[1])
        typical = _there_or_drawn(job, buffers, problem.timed_draw)
        scratch = _scratch(job, typical.draw)
        other = _other_state(problem, first, typical, buffers, scratch)
        draws = [each for each in (typical, other, unlike.result()) if each]
    if not scratch.has_inputs(buffers):
        scratch.keep("input", typical.values)
    sound, found = list(job.cases), dict[str, list[Right]]()
    with backend.workspace(problem, buffers, typical.values) as workspace:
        for inputs in draws:
            if inputs is not typical:
                workspace.refill(inputs.values)
            workspace.bounds(_flat(inputs.reference), inputs.tolerance)
            told = Held(tell)
            still = [
                case for case in sound
                if _is_right(job, workspace, case, inputs, found, told if inputs is other else tell)
            ]  # fmt: skip
            if inputs is other and len(sound) > 1 and not still:
                # No case is correct, so these inputs (sorted ones, say) cannot be changed like
                # this.
                other = None
                scratch.keep_changes({})
                continue
            told.let_go()
            sound = still
        if problem.readings:
            workspace.refill(draws[0].values)
        for case in sound:
            _tell_readings(job, problem, workspace, case, tell)
        for case in (each for each in sound if each.is_library):
            _tell_what_runs(workspace, case, tell)
    tell.now("", 600)
    if any(right.varies for rights in found.values() for right in rights):
        if not scratch.has_bounds(buffers):
            scratch.keep_bounds(typical)
        if other and not scratch.has_bounds(buffers, OTHER):
            scratch.keep_bounds(other, OTHER)
    for case in sound:
        own, *more = found[case.id]
        varies, held = (any(r.varies for r in (own, *more)), all(r.held for r in (own, *more)))
        in_other = more[0].hashes if other else ()
        _tell_right(case, Right(own.hashes, varies, held, in_other), tell)


class Held:
    """Holds back a worker's records until it is certain that they are valid."""

    def __init__(self, tell: Telling) -> None:
        self._tell, self._records = tell, list[Record]()
        self.now, self.right = tell.now, tell.right
        self.launched, self.drawn = tell.launched, tell.drawn

    def record(self, record: Record) -> None:
        self._records.append(record)

    def let_go(self) -> None:
        for each in self._records:
            self._tell.record(each)


def _other_state(
    problem: Problem, case: Case, typical: Inputs, buffers: Sequence[Buffer], scratch: Scratch
) -> Inputs | None:
    """The inputs' other state, or None. It is chosen here unless an earlier worker has chosen
    it."""
    if not scratch.has_changes():
        found = other_state(problem, case, typical)
        changes, other = found or ({}, None)
        scratch.keep_changes(changes)
        return other
    changes = scratch.changes(buffers)
    if not changes:
        return None
    if scratch.has_bounds(buffers, OTHER):
        return typical.with_kept_changes(scratch, buffers, changes)
    return typical.changed(problem, case, changes)


def _flat(reference: Mapping[str, Any]) -> dict[str, Array]:
    return {name: np.asarray(x, np.float64).reshape(-1) for name, x in reference.items()}


def _scratch(job: Job, draw: int) -> Scratch:
    return Scratch(job.scratch / f"draw-{draw}")


def _there_or_drawn(job: Job, buffers: Sequence[Buffer], draw: int) -> Inputs:
    """Load the inputs and references that were generated earlier, if their hashes still match;
    otherwise generate them now."""
    scratch, told = _scratch(job, draw), job.drawn.get(draw)
    if told and scratch.hashes() == told:
        return Inputs.kept(scratch, buffers, draw)
    scratch.clear()
    return _drawn(job, job.cases[0], draw)


def _drawn(job: Job, case: Case, draw: int) -> Inputs:
    """Generate a draw with a separate instance of the problem, because draws are generated in
    parallel."""
    return Inputs(loading.load(job.kernels / case.problem), case, job.seed, draw, job.fresh)


def _is_right(
    job: Job,
    workspace: TimedWorkspace,
    case: Case,
    inputs: Inputs,
    found: dict[str, list[Right]],
    tell: Telling,
) -> bool:
    """Return whether a case is correct on these inputs, and add its results' hashes to `found`."""
    tell.now(case.id, COMPILE_S if case.compiled else None)
    try:
        verified = inputs.verify_on_device(workspace, case, job.built.get(case.id), "before")
    except NotInstalled as error:
        tell.record(Outcome(case.id, "skipped", str(error), again=True))
        return False
    reason = verified.reason
    if verified.ok:
        right = workspace.right(case, job.built.get(case.id))
        if isinstance(right, Right):
            found.setdefault(case.id, []).append(right)
        else:
            reason = f"right at first, then not: {right}"
    tell.record(Verified(**{**vars(verified), "ok": not reason, "reason": reason}))
    if reason:
        when = f"before timing{CHANGED}" if inputs.is_changed else "before timing"
        tell.record(Outcome(case.id, "failed", f"{when}: {reason}"))
    return not reason


def _tell_readings(
    job: Job, problem: Problem, workspace: TimedWorkspace, case: Case, tell: Telling
) -> None:
    """Record the kernels' own readings over several launches."""
    if not problem.readings:
        return
    tell.now(case.id)
    built = job.built.get(case.id)
    outputs = [workspace.run(case, built).outputs for _ in range(_READ)]
    for name, unit in problem.readings.items():
        found = [float(output[name][0]) for output in outputs]
        tell.record(Told(case.id, name, float(np.median(found)), min(found), max(found), unit))


def _tell_what_runs(workspace: TimedWorkspace, case: Case, tell: Telling) -> None:
    """Record which kernels a library runs at a size.

    This comes last, because tracing disturbs timing.
    """
    tell.now(case.id, COMPILE_S)
    names = workspace.kernels(case)
    if names:
        sizes = ", ".join(f"{name} = {value}" for name, value in case.sizes.items())
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        text = f"at {sizes} runs {', '.join(names[:_NAMED])}{more}"
        tell.record(Remark(case.problem, case.variant, case.dtype, text, "measured"))


def _tell_right(case: Case, right: Right, tell: Telling) -> None:
    tell.right(case.id, right)
    for remark in _remarks(right):
        tell.record(Remark(case.problem, case.variant, case.dtype, remark, "measured"))


def _remarks(right: Right) -> Iterator[str]:
    if right.varies:
        yield "its results vary in their last bits from launch to launch"
    if not right.other:
        yield (
            "its timed launches were not told apart, as no small change of the inputs is seen in "
            "the results: an answer that it kept would pass"
        )
    if not right.held:
        yield "it waits for the device in between, so that the host's part is in its time"


def time_placement(job: Job, backend: TimingBackend, tell: Telling) -> None:
    """Time a group's cases in randomised rounds, in this process's memory."""
    own = OwnCode()
    first = job.cases[0]
    problem = loading.load(job.kernels / first.problem)
    buffers = problem.buffers(first.sizes, first.dtype)
    scratch = _scratch(job, draws_when_timed(problem)[0])
    tell.now("", 120)
    with backend.workspace(problem, buffers, scratch.inputs(buffers)) as workspace:
        bounds = partial(_give_bounds, job, workspace, buffers, scratch, tell)
        if any(right.varies for right in job.right.values()):
            bounds()
        workspace.alternate(scratch.changes(buffers))
        entries = [Entry(case, job.built.get(case.id), job.right[case.id]) for case in job.cases]
        entries += [
            Entry(e.case, e.built, e.right, repeat=True)
            for e in entries
            if e.case.variant == job.reference
        ]
        for cost in _event_costs(job, backend):
            tell.record(cost)
        rng = generator(job.seed, "order", first.group, job.placement)
        with Sensors(backend.device.bus) as sensors:
            hooks = Hooks(
                lambda case, seconds: tell.now(case.id, seconds),
                sensors.clock,
                lambda number: sensors.read(first.group, number, job.placement),
                bounds,
                lambda case, seen: tell.launched(case.id, seen),
                own.tampered,
                lambda case, right: _tell_right(case, right, tell),
            )
            for records in measure(
                workspace, entries, job.rounds, job.batch, rng, placement=job.placement,
                first_round=job.first_round, flush=job.flush, hooks=hooks,
            ):  # fmt: skip
                for record in records:
                    tell.record(record)
    _probe(job, backend, tell)


def _event_costs(job: Job, backend: TimingBackend) -> Iterator[EventCost]:
    """Measure the cost of two events around a launch; yield nothing if there is too little
    memory."""
    for cache in CACHES:
        try:
            samples = backend.event_costs(cache, event_cost.LAUNCHES)
        except OutOfMemory:
            return  # the cost in the other placements is used instead
        rounded = tuple(round(ns, 1) for ns in samples)
        yield EventCost(job.cases[0].group, cache, job.placement, rounded)


def _give_bounds(
    job: Job,
    workspace: TimedWorkspace,
    buffers: Sequence[Buffer],
    scratch: Scratch,
    tell: Telling,
) -> None:
    """Set the bounds for checks on the device; compute them here if no case has varied before."""
    changes = scratch.changes(buffers)
    if not scratch.has_bounds(buffers):
        tell.now("", DRAWING_S)
        problem = loading.load(job.kernels / job.cases[0].problem)
        typical = _drawn(job, job.cases[0], problem.timed_draw)
        if changes:
            scratch.keep_bounds(typical.changed(problem, job.cases[0], changes), OTHER)
        scratch.keep_bounds(typical)
    for of in ("", OTHER) if changes else ("",):
        reference, bound = (scratch.doubles(of + kind, buffers) for kind in ("reference", "bound"))
        workspace.bounds(reference, bound, bool(of))


def _probe(job: Job, backend: TimingBackend, tell: Telling) -> None:
    """Measure the ceilings again in this process, because they depend on the placement too."""
    tell.now("ceilings", 120)
    try:
        for record in ceilings.probe(backend, job.probes, job.placement):
            tell.record(record)
    except LaunchError:
        return  # too little memory even with the group's buffers freed: the run's ceilings apply


def measure_ceilings(job: Job, backend: TimingBackend, tell: Telling) -> None:
    tell.now("ceilings")
    for ceiling in ceilings.measure_ceilings(backend, generator(job.seed, "ceilings")):
        tell.record(ceiling)


def profile(job: Job, backend: TimingBackend, tell: Telling) -> None:
    """Launch every step of every case once, each in its own NVTX range, for ncu."""
    for group in by_group(job.cases):
        _profile_group(job, group, backend, tell)


def _profile_group(job: Job, cases: Sequence[Case], backend: TimingBackend, tell: Telling) -> None:
    first = cases[0]
    problem = loading.load(job.kernels / first.problem)
    buffers = problem.buffers(first.sizes, first.dtype)
    rng = generator(job.seed, first.group, problem.timed_draw)
    inputs = problem.inputs(first.sizes, first.dtype, rng, problem.timed_draw)
    with backend.workspace(problem, buffers, inputs) as workspace:
        for case in cases:
            tell.now(case.id, COMPILE_S if case.compiled else None)
            names = [ranges.name(case.id, step) for step in range(len(case.steps) or 1)]
            workspace.profile(case, job.built.get(case.id), names)
