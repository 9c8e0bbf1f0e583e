"""The machine code of a case's kernels, executed and counted on the CPU beside their PTX.

It is what a GPU runs, so its counts are those of the GPU; PTX has the checks that need names and
types. Where both were executed, a counter is the machine code's if that has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from harness import emulator
from harness.backends.base import Array, Execution, broken_promises, contents, poisoned
from harness.backends.emulated import (
    Launch,
    bound_launches,
    budget_of,
    module_of,
    normalised,
    relative,
)
from harness.build.compile import Built
from harness.cases import Case
from harness.emulator import sass
from harness.problem import Buffer
from harness.records import Counted, MachineCode, MachineInstruction, SourceLine

LISTING = "listing.json.gz"
"""What the disassembler prints of a cubin, kept beside it."""


class MachineCodeWorkspace:
    """Host arrays that stand for device memory, for launches from machine code."""

    def __init__(self, buffers: Sequence[Buffer], inputs: Mapping[str, Array]) -> None:
        self._buffers = buffers
        self.refill(inputs)

    def refill(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = contents(self._buffers, inputs)

    def refusal(self, case: Case, built: Built) -> str:
        """Why the case's machine code cannot be executed; empty where it can."""
        try:
            code = code_of(built.cubin, built.cubin_sha256)
            for launch in _launches(case, built):
                sass.prepare(code, launch.symbol)
        except emulator.EmulatorError as error:
            return relative(str(error))
        return ""

    def run(self, case: Case, built: Built | None, draw: int = 0) -> Execution:
        assert built is not None, f"{case.id}: a library has no machine code of ours"
        code = code_of(built.cubin, built.cubin_sha256)
        arrays = {
            b.name: self._inputs[b.name].copy() if b.role == "input" else poisoned(b)
            for b in self._buffers
        }
        budget = budget_of(self._buffers)
        counts: list[Counted] = []
        lines: list[SourceLine] = []
        listings: list[MachineCode] = []
        faults: tuple[str, ...] = ()
        for index, launch in enumerate(_launches(case, built)):
            report = sass.launch_machine_code(
                code, launch.symbol, launch.step.grid, launch.step.block, launch.arguments(arrays),
                launch.step.shared_bytes, names=launch.names, signature=launch.kernel,
                max_thread_instructions=budget,
            )  # fmt: skip
            counts += [
                Counted(case.id, index, launch.step.kernel, c.name, *normalised(c), c.provenance)
                for c in report.counters
            ]
            lines += line_counts(case.id, index, report.instructions)
            listings.append(listed(case.id, index, report.instructions))
            if report.faults:
                faults = tuple(f"in its machine code: {relative(str(f))}" for f in report.faults)
                break
        if not faults:
            faults = broken_promises(self._buffers, case.overwrites, self._inputs, arrays)
        outputs = {b.name: arrays[b.name] for b in self._buffers if b.role == "output"}
        return Execution(outputs, faults, tuple(counts), tuple(lines), machine_code=tuple(listings))

    def __enter__(self) -> MachineCodeWorkspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inputs = {}


def _launches(case: Case, built: Built) -> list[Launch]:
    """The PTX has the types of a kernel's parameters."""
    return bound_launches(module_of(built.ptx, built.cubin_sha256), case, built)


@lru_cache(maxsize=16)
def code_of(cubin: Path, digest: str) -> sass.MachineCode:
    """The cubin, read; `digest` makes a rebuilt file a new entry."""
    return sass.read(cubin, cubin.with_name(LISTING))


def both(ptx: Execution, machine: Execution) -> Execution:
    """What PTX and machine code counted together: the machine code's where that has it.

    Of a line's atomics PTX alone knows how their lanes meet.
    """
    counts = {(c.step, c.metric): c for c in ptx.counts}
    counts |= {(c.step, c.metric): c for c in machine.counts}
    met = {(each.step, each.file, each.line): each for each in ptx.lines}
    lines = [
        replace(
            each, atomic_lanes=also.atomic_lanes, atomic_addresses=also.atomic_addresses,
            atomic_most_lanes=also.atomic_most_lanes,
        )
        if (also := met.get((each.step, each.file, each.line)))
        else each
        for each in machine.lines
    ]  # fmt: skip
    return replace(
        ptx, faults=ptx.faults + machine.faults, counts=tuple(counts.values()),
        lines=tuple(lines), machine_code=machine.machine_code,
    )  # fmt: skip


def in_ptx_alone(ptx: Execution) -> Execution:
    """The same where the machine code was not executed.

    ptxas may have merged accesses or made others of them, so no counter is known to be exact.
    """
    return replace(
        ptx,
        counts=tuple(
            replace(c, provenance="ptx-level") if c.provenance == "emulator-exact" else c
            for c in ptx.counts
        ),
    )


def line_counts(
    case: str, step: int, instructions: Sequence[sass.MachineCount]
) -> Iterator[SourceLine]:
    """The counts of machine instructions, summed over each line of source."""
    lines: dict[tuple[str, int], Counter[str]] = {}
    for each in instructions:
        if not (each.warps and each.file):
            continue
        kind = _GLOBAL.get(each.opcode.partition(".")[0], "")
        chooses = each.opcode.startswith("BRA") and each.text.startswith("@")
        lines.setdefault((relative(each.file), each.line), Counter()).update({
            "warps": each.warps, "threads": each.threads_on,
            f"{kind}requests": each.global_requests, f"{kind}sectors": each.global_sectors,
            "wavefronts": each.shared_wavefronts, "wavefronts_ideal": each.shared_wavefronts_ideal,
            "branches": each.warps if chooses else 0, "diverged": each.divergent,
        })  # fmt: skip
    required = dict.fromkeys(("requests", "sectors"), 0)
    for (file, number), sums in sorted(lines.items()):
        figures: dict[str, Any] = {**required, **sums, "provenance": "machine-exact"}
        yield SourceLine(case, step, file, number, **figures)


_GLOBAL = {
    "STG": "store_", "ST": "store_", "ATOMG": "atomic_", "ATOM": "atomic_", "REDG": "atomic_",
    "RED": "atomic_",
}  # fmt: skip
"""Opcode → the prefix of SourceLine's fields for its requests; everything else reads."""


def listed(case: str, step: int, instructions: Sequence[sass.MachineCount]) -> MachineCode:
    """Every instruction that was executed, with what it cost."""
    executed = [each for each in instructions if each.warps]
    files = list(dict.fromkeys(relative(each.file) for each in executed))
    rows = tuple(
        MachineInstruction(
            each.address, each.text, files.index(relative(each.file)), each.line, each.warps,
            each.threads, each.threads_on, each.global_requests, each.global_sectors,
            each.shared_wavefronts, each.shared_wavefronts_ideal,
        )
        for each in executed
    )  # fmt: skip
    return MachineCode(case, step, tuple(files), rows)
