"""Qualify one variant: verify it at small sizes and, without a GPU, count it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.backends.base import Backend
from harness.cases import Case, Device, Shape
from harness.console import escaping
from harness.emulator.engine import library as engine
from harness.emulator.engine.compiled_library import COMPILING_S
from harness.job import Job, Telling
from harness.journal.records import Remark, Verified
from harness.problem import Problem, loading
from harness.silicon.architectures import is_known, nearest
from harness.worker.cheat_check import scrutinise
from harness.worker.inputs import DRAWS, Inputs, by_group

_TELLS_NO_CAUSE = " is wrong", " was never written"
"""Reasons for a failure that do not name the kernel's error, which the emulator may find."""


MOST_LINES, LONGEST_LINE = 4, 200
"""The maximum number of lines of kernel output that are reported, and of characters in each
line."""


def qualify(job: Job, backend: Backend, tell: Telling) -> None:
    """Verify every test case; then, if nothing is timed, verify and count the bench cases.

    A launch shape is abandoned at its first failure: one reason is enough.
    """
    tell.now("", COMPILING_S)
    engine.load()
    tell.now("")
    problem = loading.load(job.kernels / (job.tests or job.cases)[0].problem)
    given_up, named = set[Shape](), set[Shape]()
    heard = set[tuple[str, str]]()
    for group in by_group(job.tests):
        for draw in DRAWS:
            inputs = Inputs(problem, group[0], job.seed, draw)
            buffers = problem.buffers(group[0].sizes, group[0].dtype)
            with backend.workspace(problem, buffers, inputs.values) as workspace:
                for case in group:
                    if case.shape in given_up:
                        continue
                    tell.now(case.id)
                    verified, ran = inputs.verify(workspace, case, job.built.get(case.id), "test")
                    tell.record(verified)
                    if ran.printed and (case.variant, case.dtype) not in heard:
                        heard.add((case.variant, case.dtype))
                        tell.record(_printed(case, ran.printed))
                    if not verified.ok:
                        given_up.add(case.shape)
                        if not any(words in verified.reason for words in _TELLS_NO_CAUSE):
                            named.add(case.shape)
    doubtful = [case for case in job.tests if case.shape not in named]
    given_up |= _scrutinise(job, problem, doubtful, _stand_in(backend.device), tell)
    if job.cases:
        # The cubin reader takes a while to import, and timing does not need it.
        from harness.worker.counting import count

        count(job, backend, problem, [c for c in job.cases if c.shape not in given_up], tell)


def _printed(case: Case, calls: Sequence[str]) -> Remark:
    """Report what a variant's kernels print, at the first test size at which they print."""
    lines = "".join(calls).splitlines()
    shown = " | ".join(escaping.line(line)[:LONGEST_LINE] for line in lines[:MOST_LINES])
    more = f" | … {len(lines) - MOST_LINES:,} lines more" if len(lines) > MOST_LINES else ""
    sizes = ", ".join(f"{name} = {value}" for name, value in case.sizes.items())
    text = f"prints at {sizes}: {shown}{more}"
    return Remark(case.problem, case.variant, case.dtype, text, "emulator-exact")


def _stand_in(device: Device) -> str:
    """The architecture that the emulator uses for the device: its own, or the nearest listed."""
    return device.arch if is_known(device.arch) else nearest(device.compute_capability).name


def _scrutinise(
    job: Job, problem: Problem, cases: Sequence[Case], arch: str, tell: Telling
) -> set[Shape]:
    """Find the launch shapes that take a shortcut that the results do not reveal."""
    refused: set[Shape] = set()
    for dtype in dict.fromkeys(case.dtype for case in cases):
        tests = [case for case in cases if case.dtype == dtype]
        found = scrutinise(
            problem, tests, job.built, job.seed + job.fresh, arch,
            starting=lambda case: tell.now(case.id),
        )  # fmt: skip
        for remark in found.remarks:
            tell.record(remark)
        for failure in found.failures:
            case = failure.case
            tell.record(Verified(
                case.problem, case.variant, case.dtype, case.sizes, case.launch,
                "scrutiny", 0, False, failure.reason, None,
            ))  # fmt: skip
            refused.add(case.shape)
    return refused
