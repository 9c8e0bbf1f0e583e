"""The backend without a GPU. It executes a case's PTX on the CPU and counts; it gives no times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from harness import emulator
from harness.backends.base import Array, Workspace
from harness.backends.emulated_device import emulated_device
from harness.backends.host_memory import (
    Emulated,
    HostWorkspace,
    bound_launches,
    line_counts,
    module_of,
    relative,
)
from harness.cases import Case
from harness.compiler.compile import Built
from harness.problem import Buffer, Problem


class EmulatorBackend:
    """Executes PTX on the CPU, up to `jobs` blocks at a time."""

    name = "emulator"

    def __init__(
        self, arch: str, jobs: int = 1, *, waits: bool = False, checks: bool = True
    ) -> None:
        """`waits`: also note what threads wait for at mbarriers. `checks`: look for races and uses
        of uninitialised memory."""
        self.device = emulated_device(arch)
        self._jobs, self._waits, self._checks = jobs, waits, checks

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> Workspace:
        return EmulatedWorkspace(
            self.device.arch, buffers, inputs, self._jobs, waits=self._waits, checks=self._checks
        )

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class EmulatedWorkspace(HostWorkspace):
    """A workspace whose launches execute PTX."""

    def __init__(
        self, arch: str, buffers: Sequence[Buffer], inputs: Mapping[str, Array], jobs: int,
        *, waits: bool = False, checks: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(buffers, inputs)
        self._arch, self._jobs, self._waits, self._checks = arch, jobs, waits, checks

    def _launched(
        self, case: Case, built: Built, arrays: Mapping[str, Array]
    ) -> Iterator[Emulated]:
        written = {
            b.name: np.zeros(b.nbytes, np.bool_)
            for b in self._buffers
            if b.role in ("output", "scratch")
        }
        module = module_of(built.ptx, built.cubin_sha256)
        reports = launches(
            module, case, built, arrays, arch=self._arch, budget=self._budget, jobs=self._jobs,
            written=written, waits=self._waits, checks=self._checks,
        )  # fmt: skip
        for index, (step, report) in enumerate(zip(case.steps, reports, strict=False)):
            faults = tuple(relative(str(fault)) for fault in report.faults)
            lines = line_counts(case.id, index, report.instructions, "ptx-level")
            yield Emulated(
                step.kernel, report.counters, report.uncounted, faults, lines,
                printed=report.printed, waits=report.waits,
            )  # fmt: skip


def launches(
    module: emulator.Module,
    case: Case,
    built: Built,
    arrays: Mapping[str, Array],
    *,
    arch: str,
    budget: int,
    jobs: int = 1,
    observe: bool = False,
    written: Mapping[str, Array] | None = None,
    waits: bool = False,
    checks: bool = True,
) -> Iterator[emulator.LaunchReport]:
    """Execute a case's steps on the arrays, which change in place; return one report per step.

    `written`: which bytes of the initially empty arrays have been written.
    If a step faults, its report is the last in the list. Raises LaunchError and EmulatorError for
    anything that cannot run.
    """
    known = written or {}
    for each in bound_launches(module, case, built):
        report = emulator.launch(
            module,
            each.symbol,
            each.step.grid,
            each.step.block,
            each.arguments(arrays),
            shared_bytes=each.step.shared_bytes,
            names=each.names,
            arch=arch,
            max_thread_instructions=budget,
            jobs=jobs,
            observe=observe,
            waits=waits,
            checks=checks,
            written={n: known[name] for n, name in each.buffers.items() if name in known},
        )
        yield report
        if report.faults:
            return
