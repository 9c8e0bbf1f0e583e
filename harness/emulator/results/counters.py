"""Numbers that a launch reports, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Provenance = Literal["machine-exact", "emulator-exact", "emulator-model", "ptx-level"]
MACHINE: Provenance = "machine-exact"
EXACT: Provenance = "emulator-exact"
MODEL: Provenance = "emulator-model"
PTX: Provenance = "ptx-level"

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"


@dataclass(frozen=True)
class Counter:
    """A number with its unit, and how exactly it is what Nsight Compute would read."""

    name: str
    value: int | float
    unit: str
    provenance: Provenance


@dataclass(frozen=True)
class InstructionCount:
    """Counts of one PTX instruction over the launch; `file` and `line` are of the CUDA source.

    branches: warps for which it chose between targets; diverged_warps: those of them whose lanes
    chose differently. Of an atomic: the lanes that executed it, the distinct addresses that they
    hit, summed over warp instructions, and the most lanes of one warp instruction on one address.
    """

    opcode: str
    ptx_line: int
    file: str
    line: int
    warps: int
    threads: int
    threads_predicated_on: int
    global_requests: int
    global_sectors: int
    shared_requests: int
    shared_wavefronts: int
    shared_wavefronts_ideal: int
    branches: int = 0
    diverged_warps: int = 0
    atomic_lanes: int = 0
    atomic_addresses: int = 0
    atomic_most_lanes: int = 0
    flops: int = 0
