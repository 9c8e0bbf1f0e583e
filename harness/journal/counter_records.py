"""Counted results as frozen records: counters, source lines, instructions, and missing values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.journal.numbers import Lanes, Real, Whole

Provenance = Literal[
    "measured", "ncu", "machine-exact", "emulator-exact", "code-exact", "hopper-rules",
    "emulator-model", "ptx-level",
]  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """One counter of one step of a case."""

    case: str
    step: Whole
    kernel: str
    metric: str
    value: Real
    unit: str
    provenance: Provenance
    kind: Literal["counted"] = "counted"


@dataclass(frozen=True)
class SourceLine:
    """The cost of one source line in one step of a case, as the emulator counts it.

    `warps`, `threads`: instructions executed by warps, and by lanes that were predicated on;
    instructions of PTX if provenance is "ptx-level", else of machine code. Requests and sectors
    refer to global memory and, unless the name says otherwise, to loads and asynchronous copies;
    wavefronts refer to shared memory. `branches`: the number of branches on this line that warps
    executed; diverged: those at which a warp's lanes took different paths. `atomic_lanes`,
    `atomic_addresses`, `atomic_most_lanes`: for global and shared atomics, the number of lanes, of
    distinct addresses within each warp, and the largest number of a warp's lanes on one address.
    """

    case: str
    step: Whole
    file: str
    line: Whole
    warps: Whole
    threads: Whole
    requests: Whole
    sectors: Whole
    wavefronts: Whole
    wavefronts_ideal: Whole
    branches: Whole = 0
    diverged: Whole = 0
    atomic_lanes: Whole = 0
    atomic_addresses: Whole = 0
    atomic_most_lanes: Lanes = 0
    store_requests: Whole = 0
    store_sectors: Whole = 0
    atomic_requests: Whole = 0
    atomic_sectors: Whole = 0
    provenance: Provenance = "ptx-level"
    kind: Literal["line"] = "line"

    @property
    def every_request(self) -> int:
        """Load, store and atomic requests."""
        return self.requests + self.store_requests + self.atomic_requests

    @property
    def every_sector(self) -> int:
        """Load, store and atomic sectors."""
        return self.sectors + self.store_sectors + self.atomic_sectors

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.wavefronts_ideal


class MachineInstruction(NamedTuple):
    """The cost of one machine instruction.

    `threads` are active lanes, `threads_on` those that are predicated on. `address`: byte offset in
    its function. `file`: index into MachineCode.files. Requests and sectors refer to global memory,
    wavefronts to shared memory.
    """

    address: Whole
    text: str
    file: Whole
    line: Whole
    warps: Whole
    threads: Whole
    threads_on: Whole
    requests: Whole
    sectors: Whole
    wavefronts: Whole
    wavefronts_ideal: Whole


@dataclass(frozen=True)
class MachineCode:
    """The machine instructions that one step of a case executed, in order."""

    case: str
    step: Whole
    files: tuple[str, ...]
    instructions: tuple[MachineInstruction, ...]
    kind: Literal["machine code"] = "machine code"

    def __post_init__(self) -> None:
        if max((each.file for each in self.instructions), default=-1) >= len(self.files):
            raise ValueError("an instruction names a file that is not listed")


@dataclass(frozen=True)
class Uncounted:
    """A requested counter that has no value, and why.

    reason begins with "not permitted", "not collected" or "not applicable". A later Counted of the
    same case, step and metric replaces it.
    """

    case: str
    step: Whole
    metric: str
    reason: str
    kind: Literal["uncounted"] = "uncounted"


@dataclass(frozen=True)
class Profiled:
    """The request made to Nsight Compute. `asked`: recorded name → the name on this GPU."""

    ncu: str
    """Nsight Compute's version."""
    cache_control: str
    clock_control: str
    chip: str
    """ncu's name for the GPU; empty if its counters could not be listed beforehand."""
    asked: dict[str, str]
    reports: tuple[str, ...]
    """The files in the run's folder `profile`."""
    kind: Literal["profiled"] = "profiled"


@dataclass(frozen=True)
class Emulated:
    """A later Counted of the same case, step and metric replaces it."""

    case: str
    problem: str
    variant: str
    dtype: str
    launch: dict[str, Whole]
    counted: str
    sizes: dict[str, Whole]
    bytes: Whole
    flops: Whole
    reason: str = ""
    kind: Literal["emulated"] = "emulated"
