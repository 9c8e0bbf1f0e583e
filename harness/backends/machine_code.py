"""Execute and count the machine code of a case's kernels on the CPU, in addition to their PTX.

Machine code is what a GPU runs, so its counts match the GPU's. PTX serves the checks that need
names and types. If both were executed, a counter that both have is taken from the machine code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from harness import emulator
from harness.backends.base import Array, Execution
from harness.backends.host_memory import (
    Emulated,
    HostWorkspace,
    Launch,
    bound_launches,
    line_counts,
    module_of,
    relative,
)
from harness.cases import Case
from harness.compiler.compile import Built
from harness.emulator import sass
from harness.emulator.results.counters import HOPPER, MACHINE
from harness.emulator.sass.architectures import ARCHITECTURES
from harness.journal.counter_records import (
    Counted,
    MachineCode,
    MachineInstruction,
    Provenance,
    Uncounted,
)

LISTING = "listing.json.gz"
"""The disassembler's listing of a cubin, stored next to the cubin."""


class MachineCodeWorkspace(HostWorkspace):
    """A workspace whose launches execute machine code; the PTX supplies the parameters' types."""

    def refusal(self, case: Case, built: Built) -> str:
        """The reason why the case's machine code cannot be executed; empty if it can."""
        try:
            code = code_of(built.cubin, built.cubin_sha256)
            for launch in _launches(case, built):
                sass.prepare(code, launch.symbol)
        except emulator.EmulatorError as error:
            return relative(str(error))
        return ""

    def _launched(
        self, case: Case, built: Built, arrays: Mapping[str, Array]
    ) -> Iterator[Emulated]:
        code = code_of(built.cubin, built.cubin_sha256)
        for index, launch in enumerate(_launches(case, built)):
            step = launch.step
            report = sass.launch_machine_code(
                code, launch.symbol, step.grid, step.block, launch.arguments(arrays),
                step.shared_bytes, names=launch.names, signature=launch.kernel,
                max_thread_instructions=self._budget,
            )  # fmt: skip
            faults = tuple(f"in its machine code: {relative(str(f))}" for f in report.faults)
            label: Provenance = MACHINE if ARCHITECTURES[code.arch].was_read else HOPPER
            lines = line_counts(case.id, index, report.instructions, label)
            listing = listed(case.id, index, report.instructions)
            yield Emulated(
                step.kernel, report.counters, report.uncounted, faults, lines, (listing,)
            )
            if faults:
                return


def _launches(case: Case, built: Built) -> list[Launch]:
    return bound_launches(module_of(built.ptx, built.cubin_sha256), case, built)


def list_together(built: Iterable[Built]) -> None:
    """Have the disassembler list all new cubins in as few calls as possible, because it takes
    longer to start than to list a kernel."""
    sass.keep_listings({each.cubin: each.cubin.with_name(LISTING) for each in built})


def unlisted(built: Iterable[Built]) -> list[Built]:
    """The files whose machine code has never been disassembled."""
    return [each for each in built if not each.cubin.with_name(LISTING).exists()]


@lru_cache(maxsize=16)
def code_of(cubin: Path, digest: str) -> sass.MachineCode:
    """Read a cubin; the result is cached. A rebuilt file has a different `digest` and is read
    again.
    """
    return sass.read(cubin, cubin.with_name(LISTING))


def both(ptx: Execution, machine: Execution) -> Execution:
    """Merge the counts of PTX and machine code, preferring those of machine code.

    Only PTX shows how the lanes of a line's atomics collide.
    """
    counts: dict[tuple[int, str], Counted | Uncounted] = {(c.step, c.metric): c for c in ptx.counts}
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
    """Mark the exact counts of a case as "ptx-level", because its machine code was not executed.

    ptxas may have merged accesses or replaced them, so no counter is known to be exact.
    """
    return replace(
        ptx,
        counts=tuple(
            replace(c, provenance="ptx-level")
            if isinstance(c, Counted) and c.provenance == "emulator-exact"
            else c
            for c in ptx.counts
        ),
    )


def listed(case: str, step: int, instructions: Sequence[sass.MachineCount]) -> MachineCode:
    """List every executed instruction with its cost."""
    executed = [each for each in instructions if each.warps]
    place = {file: n for n, file in enumerate(dict.fromkeys(each.file for each in executed))}
    rows = tuple(
        MachineInstruction(
            each.address, each.text, place[each.file], each.line, each.warps, each.threads,
            each.threads_predicated_on, each.global_requests, each.global_sectors,
            each.shared_wavefronts, each.shared_wavefronts_ideal,
        )
        for each in executed
    )  # fmt: skip
    return MachineCode(case, step, tuple(map(relative, place)), rows)
