"""The report of a machine-code launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.emulator.results.counters import Counter, Executed, Uncounted
from harness.emulator.results.faults import Fault


@dataclass(slots=True, kw_only=True)
class MachineCount(Executed):
    """Counts of one machine instruction.

    `diverged_warps`: how often lanes of a warp diverged there. `colliding`: for an atomic, how
    often lanes accessed the same address. `branch_targets`: for a branch, how often a warp executed
    it. `warps_again`, `threads_again`: additional counts, because the multiprocessor issues the
    instruction again (machine/scheduler/replays.h). `remote_requests`, `remote_sectors`: accesses
    to another block's shared memory; `remote_uncertain`: how many of them are covered by no rule.
    `ideal_uncertain`: the number of shared-memory accesses for which no rule gives the ideal
    wavefronts.
    """

    address: int
    text: str
    colliding: int
    branch_targets: int
    warps_again: int
    threads_again: int
    remote_requests: int = 0
    remote_sectors: int = 0
    remote_uncertain: int = 0
    ideal_uncertain: int = 0

    @property
    def base(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class Counted:
    """What was counted in a launch. `uncounted`: the counters that are missing, each with the
    reason."""

    instructions: tuple[MachineCount, ...]
    counters: tuple[Counter, ...]
    uncounted: Uncounted


@dataclass(frozen=True)
class MachineReport:
    """The results of a launch, except the arrays, which the launch changed in place.

    `count`: computes the counts. It is not called until they are first requested, because it takes
    longer than a small launch.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    faults: tuple[Fault, ...]
    printed: tuple[str, ...]
    """The output of each printf call, block by block."""
    count: Callable[[], Counted] = field(repr=False, compare=False)

    @property
    def instructions(self) -> tuple[MachineCount, ...]:
        return self._counted.instructions

    @property
    def counters(self) -> tuple[Counter, ...]:
        return self._counted.counters

    @property
    def uncounted(self) -> Uncounted:
        """The counters that the launch lacks, each with the reason."""
        return self._counted.uncounted

    def counter(self, name: str) -> Counter:
        """Return a counter by name. Raises KeyError if the launch has no such counter."""
        return self._by_name[name]

    @property
    def instruction_mix(self) -> dict[str, int]:
        """Warp instructions by opcode, most frequent first: `sass__inst_executed_per_opcode`."""
        mix: dict[str, int] = {}
        for each in self.instructions:
            mix[each.opcode] = mix.get(each.opcode, 0) + each.warps
        return dict(sorted(((k, v) for k, v in mix.items() if v), key=lambda kv: (-kv[1], kv[0])))

    @property
    def lines(self) -> dict[tuple[str, int], tuple[MachineCount, ...]]:
        """The machine instructions of each source line, in address order."""
        found: dict[tuple[str, int], list[MachineCount]] = {}
        for each in self.instructions:
            found.setdefault((each.file, each.line), []).append(each)
        return {at: tuple(counts) for at, counts in sorted(found.items())}

    @cached_property
    def _counted(self) -> Counted:
        return self.count()

    @cached_property
    def _by_name(self) -> Mapping[str, Counter]:
        return {counter.name: counter for counter in self.counters}
