"""Host arrays that stand in for device memory, shared by PTX and machine-code launches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from harness import emulator
from harness.backends.base import (
    Array,
    Execution,
    broken_promises,
    contents,
    poisoned,
    scalar_or_buffer,
)
from harness.cases import Case, Step, TensorMap
from harness.compiler.compile import Built, kernel_name
from harness.compiler.parameters import Parameter
from harness.errors import LaunchError
from harness.journal.counter_records import Counted, MachineCode, Provenance, SourceLine, Uncounted
from harness.problem import Buffer

Self = TypeVar("Self", bound="HostWorkspace")

BUDGET, BUDGET_PER_BYTE = 2**26, 2**12
"""Thread instructions after which a launch is considered endless. A 1024 × 1024 matrix product,
which has the most instructions per byte among the usual problems, takes less than a tenth of the
budget that its 12 MiB give it."""


@dataclass(frozen=True)
class Emulated:
    """The results of one launch apart from the arrays."""

    kernel: str
    counters: Sequence[emulator.Counter]
    uncounted: Mapping[str, str]
    """Counters without a value, and why."""
    faults: tuple[str, ...]
    lines: Iterable[SourceLine]
    machine_code: tuple[MachineCode, ...] = ()
    printed: tuple[str, ...] = ()
    """The output of each call of printf, in the order of the blocks."""
    waits: tuple[emulator.Wait, ...] = ()


class HostWorkspace(ABC):
    """A problem's buffers at one size; every launch starts from fresh poison values."""

    def __init__(self, buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> None:
        self._buffers = buffers
        self._budget = BUDGET + BUDGET_PER_BYTE * sum(b.nbytes for b in buffers)
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = contents(self._buffers, inputs)

    @abstractmethod
    def _launched(
        self, case: Case, built: Built, arrays: Mapping[str, Array]
    ) -> Iterator[Emulated]:
        """Execute the case's steps on the arrays, up to the first with a fault."""

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        if built is None:
            raise LaunchError(f"{case.id}: the emulator runs kernels, not a library")
        try:
            return self._execute(case, built)
        except emulator.EmulatorError as error:
            raise LaunchError(relative(str(error))) from None

    def _execute(self, case: Case, built: Built) -> Execution:
        arrays = {
            b.name: self._inputs[b.name].copy() if b.role == "input" else poisoned(b)
            for b in self._buffers
        }
        counts: list[Counted | Uncounted] = []
        lines: list[SourceLine] = []
        listings: list[MachineCode] = []
        faults: tuple[str, ...] = ()
        printed: list[str] = []
        waits: list[tuple[emulator.Wait, ...]] = []
        for index, launch in enumerate(self._launched(case, built, arrays)):
            counts += [
                Counted(case.id, index, launch.kernel, c.name, *normalised(c), c.provenance)
                for c in launch.counters
            ]
            counts += [Uncounted(case.id, index, *each) for each in launch.uncounted.items()]
            lines += launch.lines
            listings += launch.machine_code
            faults = launch.faults
            printed += launch.printed
            waits.append(launch.waits)
        if not faults:
            faults = broken_promises(self._buffers, case.overwrites, self._inputs, arrays)
        outputs = {b.name: arrays[b.name] for b in self._buffers if b.role == "output"}
        return Execution(outputs, faults, tuple(counts), tuple(lines), tuple(listings),
                         printed=tuple(printed), waits=tuple(waits))  # fmt: skip

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._inputs = {}


@dataclass(frozen=True)
class Launch:
    """One step of a case, with its kernel: `symbol` is the name in both PTX and cubin."""

    step: Step
    symbol: str
    kernel: emulator.Kernel
    bound: Sequence[Any]

    @property
    def names(self) -> list[str]:
        """The names of arguments in messages, and the observed buffers."""
        return [self.buffers.get(n, str(each)) for n, each in enumerate(self.step.args)]

    def arguments(self, arrays: Mapping[str, Array]) -> list[Any]:
        return [_argument(each, arrays) for each in self.bound]

    @property
    def buffers(self) -> dict[int, str]:
        """The kernel's arguments that refer to a buffer, and the buffer's name."""
        found = {}
        for number, each in enumerate(self.bound):
            if isinstance(each, str | TensorMap):
                found[number] = each if isinstance(each, str) else each.buffer
        return found


def _argument(bound: Any, arrays: Mapping[str, Array]) -> Any:
    if isinstance(bound, str):
        return arrays[bound]
    if not isinstance(bound, TensorMap):
        return bound
    layout = bound.layout
    return emulator.TensorMap(
        arrays[bound.buffer].view(f"u{layout.element_bytes}"), layout.box, layout.shape,
        layout.byte_strides, layout.element, swizzle=layout.swizzle, fill=layout.fill, l2=layout.l2,
    )  # fmt: skip


def bound_launches(module: emulator.Module, case: Case, built: Built) -> list[Launch]:
    """Bind each of a case's steps to its kernel. Raises LaunchError if the arguments do not
    match."""
    found = []
    for step in case.steps:
        symbol = kernel_name(step.kernel, built, case.source)
        kernel = module.kernels[symbol]
        parameters = [
            Parameter(p.name, f"{p.type}[{p.size}]" if p.is_array else p.type)
            for p in kernel.params
        ]
        bound = scalar_or_buffer(parameters, step, case.source)
        found.append(Launch(step, symbol, kernel, bound))
    return found


@lru_cache(maxsize=16)
def module_of(ptx: Path, digest: str) -> emulator.Module:
    """Parse a file; the result is cached. A rebuilt file has a different `digest` and is parsed
    again.
    """
    return emulator.parse(ptx.read_text())


def normalised(counter: emulator.Counter) -> tuple[float, str]:
    """Convert a value and its unit as for an ncu reading: a percentage becomes a ratio."""
    if counter.unit == "%":
        return counter.value / 100, "ratio"
    return float(counter.value), counter.unit


_GLOBAL = dict.fromkeys(("st", "STG", "ST"), "store_") | dict.fromkeys(
    ("atom", "red", "ATOMG", "ATOM", "REDG", "RED"), "atomic_"
)
"""Opcode → the prefix of SourceLine's fields for its requests; all other opcodes count as reads."""
_COUNTS: dict[str, Callable[[emulator.Executed], int]] = {
    "warps": attrgetter("warps"), "threads": attrgetter("threads_predicated_on"),
    "wavefronts": attrgetter("shared_wavefronts"),
    "wavefronts_ideal": attrgetter("shared_wavefronts_ideal"),
    "branches": attrgetter("branches"), "diverged": attrgetter("diverged_warps"),
}  # fmt: skip
"""SourceLine's fields that are sums over all instructions of the line, whatever their opcodes."""


def line_counts(
    case: str, step: int, instructions: Sequence[emulator.Executed], provenance: Provenance
) -> Iterator[SourceLine]:
    """Sum the counts of instructions over each line of source.

    A line is left out if the lanes of a request access several state spaces, because its counts are
    then unknown.
    """
    unknown = {(each.file, each.line) for each in instructions if each.mixed_requests}
    lines: dict[tuple[str, int], list[emulator.Executed]] = {}
    for each in instructions:
        if each.warps and each.file and (each.file, each.line) not in unknown:
            lines.setdefault((each.file, each.line), []).append(each)
    paths = {file: relative(file) for file, _ in lines}
    for (file, number), those in sorted(lines.items(), key=lambda kv: (paths[kv[0][0]], kv[0][1])):
        sums: dict[str, Any] = Counter(requests=0, sectors=0)
        sums.update({name: sum(map(count, those)) for name, count in _COUNTS.items()})
        for each in those:
            kind = _GLOBAL.get(each.opcode.partition(".")[0], "")
            sums[f"{kind}requests"] += each.global_requests
            sums[f"{kind}sectors"] += each.global_sectors
            if isinstance(each, emulator.InstructionCount):
                sums["atomic_lanes"] += each.atomic_lanes
                sums["atomic_addresses"] += each.atomic_addresses
                most = max(sums["atomic_most_lanes"], each.atomic_most_lanes)
                sums["atomic_most_lanes"] = most
        yield SourceLine(case, step, paths[file], number, **sums, provenance=provenance)


def relative(text: str) -> str:
    """Make paths under the working directory relative to it."""
    return text.replace(f"{Path.cwd()}/", "")
