"""The bytes that one run of a case reads and writes, and the values that it reads.

A run executes all steps of a case on one set of buffers. The emulator observes each launch; this
module merges the launches of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from harness import emulator
from harness.backends.base import Array
from harness.backends.emulated import launches
from harness.backends.host_memory import relative
from harness.cases import Case
from harness.compiler.compile import Built

Key = tuple[str, bool]
"""The name of a buffer or of a `__device__` variable, and whether it is the latter."""


class Traffic:
    """One buffer in one run. read, written: for each byte, whether the run read or wrote it."""

    def __init__(self, size: int) -> None:
        self.read, self.written = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        self._found: list[tuple[emulator.LaunchReport, Array]] = []

    @property
    def found(self) -> Array:
        """Mark each byte that the run read before writing it, so that its earlier value matters."""
        anywhere = np.zeros(self.read.size, np.bool_)
        for _, sites in self._found:
            anywhere |= sites > 0
        return anywhere

    def place(self, where: Array) -> str:
        """file:line of an instruction that accessed one of these bytes."""
        for report, sites in self._found:
            hit = sites[where & (sites > 0)]
            if hit.size:
                return relative(report.place(int(hit[0])))
        return ""

    def add(self, report: emulator.LaunchReport, seen: emulator.Observed) -> None:
        """Add the accesses of the run's next launch."""
        self._found.append((report, np.where(self.written, 0, seen.read_before_write)))
        self.read |= seen.read > 0
        self.written |= seen.written > 0


@dataclass
class Run:
    """One run: its traffic, the PTX lines that it executed, and the fault that ended it, if any."""

    arrays: Mapping[str, Array]
    traffic: dict[Key, Traffic] = field(default_factory=dict)
    executed: set[int] = field(default_factory=set)
    fault: emulator.Fault | None = None

    def of(self, name: str, size: int) -> Traffic:
        """A buffer's traffic; empty if the buffer was not passed to any step."""
        return self.traffic.get((name, False)) or Traffic(size)

    def of_variables(self) -> dict[str, Traffic]:
        return {name: each for (name, is_variable), each in self.traffic.items() if is_variable}


def execute(
    module: emulator.Module, case: Case, built: Built, arrays: Mapping[str, Array], arch: str,
    budget: int,
) -> Run:  # fmt: skip
    """Run the case on the arrays, which change in place. Raises EmulatorError and LaunchError."""
    run = Run(arrays)
    for report in launches(module, case, built, arrays, arch=arch, budget=budget, observe=True):
        for seen in report.observed:
            if not seen.is_variable and seen.name not in arrays:
                continue  # the kernel's parameters
            key = seen.name, seen.is_variable
            run.traffic.setdefault(key, Traffic(seen.read.size)).add(report, seen)
        run.executed |= report.executed_lines
        run.fault = report.faults[0] if report.faults else None
    return run
