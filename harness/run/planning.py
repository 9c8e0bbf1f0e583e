"""The plan of a run: the record of each case, and the cases that are too large for the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.backends.base import AROUND
from harness.cases import Case, Device
from harness.journal.records import Planned, Remark
from harness.matrix import model
from harness.matrix.plan import Plan
from harness.problem import Problem
from harness.run import staleness
from harness.run.task_runner import WorkItem

SEVERAL = 4
"""Groups are prepared side by side if there are at least this many cores."""

SMALL = 2**30
"""The largest inputs, in bytes, of a group that is prepared ahead."""

SHARE = 8
"""Groups that are prepared ahead use at most 1/SHARE of the free memory."""

UNCOUNTED = "verified at the test sizes, but not counted:"
"""The beginning of the reason for skipping a case that is right as far as a machine without a GPU
can determine."""


def planned(
    bench: model.Bench, plan: Plan, origins: staleness.Origins, is_counted: Callable[[Case], bool]
) -> list[Planned]:
    """Return the records of all cases. `is_counted`: whether the emulator counts the case."""
    found = []
    for case in plan.cases:
        problem = bench.problems[case.problem]
        variant = problem.variants.get(case.variant)  # a library is not a variant
        said = (variant.idea, variant.is_trap) if variant else ("", False)
        arithmetic = variant.arithmetic if variant else ""
        expected = {name: str(b) for name, b in variant.expect.items()} if variant else {}
        work = plan.works[case.group]
        found.append(Planned(
            case.id, case.problem, case.variant, case.dtype, case.sizes, case.launch, work.bytes,
            work.flops, case.variant == problem.baseline, case.is_library,
            tuple(step.kernel for step in case.steps), case.builds_on,
            origins.of(case, counted=is_counted(case)), expected, *said, work.written_bytes,
            work.reread_bytes, work.exponentials, staleness.launched(case, bench.timing.seed),
            arithmetic,
        ))  # fmt: skip
    return found


def untested(plan: Plan, cases: Sequence[Case]) -> list[Remark]:
    """Return remarks on the variants of these cases that run, but are verified at no test size."""
    tested = {test.shape for test in plan.tests if not test.skip}
    run = {c.shape for c in cases if c.kind == "kernel" and not (c.skip or c.refusal)}
    found = {}
    for test in plan.tests:
        if test.shape in run - tested:
            text = f"is verified at no test size: {test.skip}"
            found[test.problem, test.variant, test.dtype] = text
    return [Remark(*name, text, "emulator-exact") for name, text in found.items()]


def over_budget(case: Case, bench: model.Bench, plan: Plan) -> str:
    """Return the reason why the emulator does not count the case; empty if it does."""
    if case.sizes in bench.problems[case.problem].sizes.emulate:
        return ""
    limits, work = bench.limits, plan.works[case.group]
    if work.bytes > limits.emulate_bytes:
        return (
            f"{UNCOUNTED} {work.bytes / 2**20:.0f} MiB of compulsory traffic exceeds "
            f"limits.emulate_bytes, {limits.emulate_bytes / 2**20:.0f} MiB"
        )
    if work.flops > limits.emulate_flops:
        return (
            f"{UNCOUNTED} {work.flops:,} floating-point operations exceed "
            f"limits.emulate_flops, {limits.emulate_flops:,}"
        )
    return ""


def too_large(case: Case, problem: Problem, device: Device) -> str:
    """Return the reason why the device cannot hold the case's buffers; empty if it can."""
    needed, free = _device_bytes(case, problem, device), device.free_bytes
    if needed <= free:
        return ""
    there = "are free on" if device.room else "is all the memory of"
    return (
        f"it needs {needed / 2**30:.2f} GiB, and {free / 2**30:.2f} GiB {there} "
        f"{device.name}\n  free some of it, or choose smaller sizes with --size"
    )


def prepared_ahead(groups: Sequence[WorkItem], cores: int, available: int | None) -> set[str]:
    """Choose the groups that are prepared side by side before the first one is timed.

    Preparing a group means verifying it at the timed size, which keeps one core busy. The inputs of
    small groups can wait in memory until they are timed. `available`: the machine's free memory in
    bytes.
    """
    if cores < SEVERAL:
        return set()
    found, left = set(), (available or 0) // SHARE
    for group in groups:
        if group.needed_bytes <= min(SMALL, left):
            found.add(group.name)
            left -= group.needed_bytes
    return found


def bytes_of(case: Case, problem: Problem) -> int:
    """The size of all buffers of the case."""
    return sum(buffer.nbytes for buffer in problem.buffers(case.sizes, case.dtype))


def elements_of(case: Case, problem: Problem) -> int:
    """The number of elements of the case's inputs and outputs."""
    buffers = problem.buffers(case.sizes, case.dtype)
    return sum(each.count for each in buffers if each.role in ("input", "output"))


def _device_bytes(case: Case, problem: Problem, device: Device) -> int:
    """The device memory of all buffers, laid out as in a workspace that times launches."""
    if device.room is None:
        return bytes_of(case, problem)
    found = 0
    for buffer in problem.buffers(case.sizes, case.dtype):
        # Written buffers have a twin for warm launches; inputs have a copy.
        copies = 1 + (buffer.role != "input") + (buffer.name in case.overwrites)
        found += copies * (buffer.nbytes + AROUND)
    return found
