"""The report of a launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from harness.emulator.engine import counters
from harness.emulator.engine.raw_counts import JobCounts, executed_lines, instruction_counts
from harness.emulator.memory.address_space import Allocation
from harness.emulator.program.ir import Program
from harness.emulator.program.signatures import split_opcode
from harness.emulator.results.counters import Counter, InstructionCount, Uncounted
from harness.emulator.results.faults import Fault
from harness.emulator.results.observed import Observed
from harness.emulator.results.remarks import Remark
from harness.emulator.results.waits import Wait

EngineName = Literal["native", "judge"]


@dataclass(frozen=True)
class LaunchReport:
    """The results of a launch, except the arrays, which the launch changed in place.

    Counters and instructions are computed from the raw counts when first requested.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    faults: tuple[Fault, ...]
    printed: tuple[str, ...]
    engine: EngineName
    _program: Program = field(repr=False, compare=False)
    _counts: JobCounts = field(repr=False, compare=False)
    _buffers: tuple[Allocation, ...] = field(repr=False, compare=False)
    observed: tuple[Observed, ...] = field(default=(), repr=False, compare=False)
    """The accesses to each buffer, byte by byte, if the launch was asked to observe them."""
    remarks: tuple[Remark, ...] = ()
    """Permitted accesses that are unordered."""
    waits: tuple[Wait, ...] = ()
    """The waits of threads at mbarriers, in program order, if the launch was asked to record
    them."""

    @cached_property
    def instructions(self) -> tuple[InstructionCount, ...]:
        """The counts of each PTX instruction, in the order of the PTX."""
        return instruction_counts(self._program, self._counts.summed)

    @property
    def executed_lines(self) -> set[int]:
        """The lines of the PTX that some warp executed."""
        return executed_lines(self._program, self._counts.summed)

    @cached_property
    def counters(self) -> tuple[Counter, ...]:
        """The counters of the launch."""
        return counters.counters(
            self._program, self._counts.summed, self.instructions, self._buffers
        )

    @property
    def uncounted(self) -> Uncounted:
        """The counters that the launch lacks, each with the reason."""
        return counters.uncounted(self._program, self.instructions)

    @property
    def thread_instructions(self) -> int:
        """Instructions executed by threads whose predicate was on."""
        return sum(each.threads_predicated_on for each in self.instructions)

    @property
    def instruction_mix(self) -> dict[str, int]:
        """Warp instructions by opcode (without its types), most frequent first."""
        mix: dict[str, int] = {}
        for each in self.instructions:
            name, modifiers, _ = split_opcode(each.opcode)
            operation = ".".join([name, *modifiers])
            mix[operation] = mix.get(operation, 0) + each.warps
        return dict(sorted(((k, v) for k, v in mix.items() if v), key=lambda kv: (-kv[1], kv[0])))

    def place(self, first: int) -> str:
        """`file:line` of an entry in Observed's arrays; empty for 0, or if it is not known."""
        location = self._program.sites[first - 1].location if first else None
        return str(location) if location else ""

    def counter(self, name: str) -> Counter:
        """Return a counter by name. Raises KeyError if the launch has no such counter."""
        for counter in self.counters:
            if counter.name == name:
                return counter
        raise KeyError(name)
