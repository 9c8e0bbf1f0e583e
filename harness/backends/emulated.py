"""The backend without a GPU: runs a case's PTX on the CPU and counts; it never tells a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from harness import emulator
from harness.backends.base import (
    Array,
    Execution,
    Workspace,
    broken_promises,
    contents,
    poisoned,
    scalar_or_buffer,
)
from harness.build.compile import Built, kernel_name
from harness.cases import Case, Device, Step
from harness.errors import LaunchError
from harness.problem import Buffer, Problem
from harness.records import Counted, SourceLine
from harness.silicon.architectures import architecture

BUDGET, BUDGET_PER_BYTE = 2**26, 2**12
"""Thread instructions after which a launch is taken to be endless: a matrix product of 1024 × 1024,
the densest of the usual problems, takes less than a tenth of what its 12 MiB allow."""


def budget_of(buffers: Sequence[Buffer]) -> int:
    """Thread instructions that a launch on these buffers may take."""
    return BUDGET + BUDGET_PER_BYTE * sum(b.nbytes for b in buffers)


def emulated_device(arch: str) -> Device:
    """The facts of the device that stands for an architecture where there is none."""
    facts = architecture(arch)
    device = facts.representative
    return Device(
        name=f"{device.name} (emulated)",
        arch=arch,
        sm_count=device.sm_count,
        warp_size=facts.warp_size,
        l2_bytes=device.l2_bytes,
        memory_bytes=device.memory_bytes,
        max_threads_per_block=facts.max_threads_per_block,
        max_block=facts.max_block,
        max_grid=facts.max_grid,
        max_shared_bytes=facts.max_shared_bytes_per_block,
    )


class EmulatorBackend:
    """Executes PTX on the CPU, up to `jobs` blocks at a time."""

    name = "emulator"

    def __init__(self, arch: str, jobs: int = 1) -> None:
        self.device = emulated_device(arch)
        self._jobs = jobs

    def workspace(
        self, problem: Problem | None, buffers: Sequence[Buffer], inputs: Mapping[str, Array]
    ) -> Workspace:
        return EmulatedWorkspace(self.device.arch, buffers, inputs, self._jobs)

    def close(self) -> None:
        """Nothing is held."""


class EmulatedWorkspace:
    """Host arrays that stand for device memory; every launch starts from fresh poison."""

    def __init__(
        self, arch: str, buffers: Sequence[Buffer], inputs: Mapping[str, Array], jobs: int
    ) -> None:
        self._arch, self._buffers, self._jobs = arch, buffers, jobs
        self._budget = budget_of(buffers)
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = contents(self._buffers, inputs)

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        if built is None:
            raise LaunchError(f"{case.id}: the emulator runs kernels, not a library")
        try:
            return self._execute(case, built)
        except emulator.EmulatorError as error:
            raise LaunchError(relative(str(error))) from None

    def _execute(self, case: Case, built: Built) -> Execution:
        module = module_of(built.ptx, built.cubin_sha256)
        arrays = {
            b.name: self._inputs[b.name].copy() if b.role == "input" else poisoned(b)
            for b in self._buffers
        }
        written = {
            b.name: np.zeros(b.nbytes, np.bool_)
            for b in self._buffers
            if b.role in ("output", "scratch")
        }
        counts: list[Counted] = []
        lines: list[SourceLine] = []
        faults: tuple[str, ...] = ()
        reports = launches(
            module, case, built, arrays, arch=self._arch, budget=self._budget, jobs=self._jobs,
            written=written,
        )  # fmt: skip
        for index, (step, report) in enumerate(zip(case.steps, reports, strict=False)):
            counts += [
                Counted(case.id, index, step.kernel, c.name, *normalised(c), c.provenance)
                for c in report.counters
            ]
            lines += line_counts(case.id, index, report.instructions)
            faults = fault_texts(report)
        if not faults:
            faults = broken_promises(self._buffers, case.overwrites, self._inputs, arrays)
        outputs = {b.name: arrays[b.name] for b in self._buffers if b.role == "output"}
        return Execution(outputs, faults, tuple(counts), tuple(lines))

    def __enter__(self) -> EmulatedWorkspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inputs = {}


@dataclass(frozen=True)
class Launch:
    """One step of a case, with the kernel that it calls: `symbol` in PTX and cubin alike."""

    step: Step
    symbol: str
    kernel: emulator.Kernel
    bound: Sequence[Any]

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.step.args]

    def arguments(self, arrays: Mapping[str, Array]) -> list[Any]:
        return [arrays[each] if isinstance(each, str) else each for each in self.bound]


def bound_launches(module: emulator.Module, case: Case, built: Built) -> list[Launch]:
    """A case's steps. Raises LaunchError for what does not fit its kernel."""
    found = []
    for step in case.steps:
        symbol = kernel_name(step.kernel, built, case.source)
        kernel = module.kernels[symbol]
        bound = scalar_or_buffer(kernel.params, step, case.source)
        found.append(Launch(step, symbol, kernel, bound))
    return found


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
) -> Iterator[emulator.LaunchReport]:
    """Execute a case's steps on the arrays, which change in place: one report per step.

    `written`: for arrays that hold nothing at first, which of their bytes have been written.
    The one with a fault is the last. Raises LaunchError and EmulatorError for what cannot be run.
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
            written={
                n: known[a] for n, a in enumerate(each.bound) if isinstance(a, str) and a in known
            },
        )
        yield report
        if report.faults:
            return


def normalised(counter: emulator.Counter) -> tuple[float, str]:
    """Value and unit, of a percentage as a ratio, as a reading of ncu's is kept."""
    if counter.unit == "%":
        return counter.value / 100, "ratio"
    return float(counter.value), counter.unit


def fault_texts(report: emulator.LaunchReport) -> tuple[str, ...]:
    """What went wrong, with paths as a reader would type them."""
    return tuple(relative(str(fault)) for fault in report.faults)


def line_counts(
    case: str, step: int, instructions: Sequence[emulator.InstructionCount]
) -> Iterator[SourceLine]:
    """The counts of PTX instructions, summed over each line of source."""
    lines: dict[tuple[str, int], Counter[str]] = {}
    most: dict[tuple[str, int], int] = {}
    for each in instructions:
        if not (each.warps and each.file):
            continue
        at = relative(each.file), each.line
        kind = _GLOBAL.get(each.opcode.partition(".")[0], "")
        lines.setdefault(at, Counter()).update({
            "warps": each.warps, "threads": each.threads_predicated_on,
            f"{kind}requests": each.global_requests, f"{kind}sectors": each.global_sectors,
            "wavefronts": each.shared_wavefronts,
            "wavefronts_ideal": each.shared_wavefronts_ideal,
            "branches": each.branches, "diverged": each.diverged_warps,
            "atomic_lanes": each.atomic_lanes, "atomic_addresses": each.atomic_addresses,
        })  # fmt: skip
        most[at] = max(most.get(at, 0), each.atomic_most_lanes)
    required = dict.fromkeys(("requests", "sectors"), 0)
    for (file, number), sums in sorted(lines.items()):
        figures: dict[str, Any] = {**required, **sums, "atomic_most_lanes": most[file, number]}
        yield SourceLine(case, step, file, number, **figures)


_GLOBAL = {"st": "store_", "atom": "atomic_", "red": "atomic_"}
"""Opcode → the prefix of SourceLine's fields for its requests; everything else reads."""


def relative(text: str) -> str:
    """Paths below the working directory without it."""
    return text.replace(f"{Path.cwd()}/", "")


@lru_cache(maxsize=16)
def module_of(ptx: Path, digest: str) -> emulator.Module:
    """The parsed file; `digest` makes a rebuilt file a new entry."""
    return emulator.parse(ptx.read_text())
