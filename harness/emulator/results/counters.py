"""The numbers that a launch reports, each with its provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Provenance = Literal[
    "machine-exact", "emulator-exact", "code-exact", "hopper-rules", "emulator-model", "ptx-level"
]
MACHINE: Provenance = "machine-exact"
CODE: Provenance = "code-exact"
HOPPER: Provenance = "hopper-rules"
EXACT: Provenance = "emulator-exact"
MODEL: Provenance = "emulator-model"
PTX: Provenance = "ptx-level"

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS, WAVEFRONTS_IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"

Uncounted = dict[str, str]
"""Counters for which a launch has no value, each with the reason."""


@dataclass(frozen=True)
class Counter:
    """A number with its unit, and how exactly it matches Nsight Compute's reading."""

    name: str
    value: int | float
    unit: str
    provenance: Provenance


def of_mixed(executed: Sequence[Executed], kinds: Callable[[int], Iterable[str]]) -> Uncounted:
    """Return the counters that are not collected because lanes of one request access several state
    spaces, each with the reason. `kinds`: the operations to which each instruction's requests
    belong."""
    found: Uncounted = {}
    for number, each in enumerate(executed):
        if not each.mixed_requests:
            continue
        where = f" ({each.file}:{each.line})" if each.file else ""
        reason = (
            f"not collected: lanes of one `{each.opcode}`{where} go to different memories at once, "
            "or to another block's shared memory, and what such a request costs is not known"
        )
        names = [pattern.format(kind) for kind in kinds(number) for pattern in (REQUESTS, SECTORS)]
        found |= dict.fromkeys([*names, WAVEFRONTS, WAVEFRONTS_IDEAL], reason)
    return found


@dataclass(slots=True, kw_only=True)  # not frozen: creating one would take seven times as long
class Executed:
    """Counts of one instruction over the launch; `file` and `line` refer to the CUDA source.

    `threads`: active lanes; `threads_predicated_on`: those whose guard was true. `branches`: the
    number of warps that executed a branch here; `diverged_warps`: how many of them had lanes that
    took different paths. `mixed_requests`: requests whose lanes access several state spaces;
    nothing else is counted for these. `bulk_copies`, `bulk_sectors`, `multicast_requests`: counts
    of the bulk copy unit (engine/machine/memory/tensors/bulk_sectors.h). `bulk_uncertain`: how many
    of the copies are covered by no rule.
    """

    opcode: str
    file: str
    line: int
    warps: int
    threads: int
    threads_predicated_on: int
    global_requests: int = 0
    global_sectors: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0
    branches: int = 0
    diverged_warps: int = 0
    mixed_requests: int = 0
    bulk_copies: int = 0
    bulk_sectors: int = 0
    multicast_requests: int = 0
    bulk_uncertain: int = 0


@dataclass(slots=True, kw_only=True)
class InstructionCount(Executed):
    """Counts of one PTX instruction.

    For an atomic: the lanes that executed it; the distinct addresses they hit, summed over warp
    instructions; and the most lanes of one warp instruction on one address.
    """

    ptx_line: int
    atomic_lanes: int = 0
    atomic_addresses: int = 0
    atomic_most_lanes: int = 0
    flops: int = 0


def of_instructions(
    instructions: Sequence[Executed],
    provenance: Provenance,
    warps_again: int = 0,
    threads_again: int = 0,
) -> Iterator[Counter]:
    """Count the instructions executed by warps and by threads, and threads per warp instruction.

    `warps_again` and `threads_again`: repeated issues, which are counted here but not at an
    instruction.
    """
    warps = warps_again + sum(each.warps for each in instructions)
    threads = threads_again + sum(each.threads for each in instructions)
    on = threads_again + sum(each.threads_predicated_on for each in instructions)
    yield Counter("smsp__inst_executed.sum", warps, "inst", provenance)
    yield Counter("smsp__thread_inst_executed.sum", threads, "inst", provenance)
    yield Counter("smsp__thread_inst_executed_pred_on.sum", on, "inst", provenance)
    if warps:
        for name, value in (("", threads), ("_pred_on", on)):
            ratio = f"smsp__thread_inst_executed{name}_per_inst_executed.ratio"
            yield Counter(ratio, value / warps, "thread", provenance)
