"""The settings of a launch other than its arguments, checked against the architecture's limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.emulator.engine import clusters, shape
from harness.emulator.engine.shape import BLOCK_MEMORY_BYTES, CompiledFor, Dim3, Shape
from harness.emulator.errors import LaunchError
from harness.emulator.memory import arguments, grid_workspace
from harness.emulator.program.analysis.access_kinds import grain
from harness.emulator.program.analysis.waiting_loops import waiting_loops
from harness.emulator.program.ir import Program
from harness.emulator.ptx.syntax import Kernel
from harness.silicon.architectures import Architecture, UnknownArchitectureError, architecture

CHUNK_THREADS = 2**16
MOST_CHUNK_THREADS = 2**20
_STAMP_BYTES = 28  # per tracked word of shared memory
_ORIGIN_BYTES = 4  # per tracked word of local memory


@dataclass(frozen=True)
class LaunchConfiguration(Shape):
    """The shape of a launch and its execution options.

    `checks`: whether to look for races and for uses of uninitialised memory. `jobs`: how many
    blocks may run at the same time in the fast run. `chunk_blocks`: how many blocks the judge
    executes together. `held_blocks`: how many blocks a device holds at the same time, if blocks may
    wait for each other; otherwise 0. `fitting_blocks`: how many blocks fit in this machine's
    memory. `cluster`: the number of blocks in a thread block cluster, which always execute
    together.
    """

    checks: bool
    jobs: int
    chunk_blocks: int
    held_blocks: int
    fitting_blocks: int
    cluster: Dim3 = (1, 1, 1)

    @property
    def cluster_blocks(self) -> int:
        return math.prod(self.cluster)


class Requested(NamedTuple):
    """The settings of a launch as its caller gave them."""

    grid: int | Sequence[int]
    block: int | Sequence[int]
    shared_bytes: int
    arch: str
    chunk_threads: int | None
    budget: int | None
    checks: bool
    jobs: int
    cluster: int | Sequence[int] | None = None


def configure(program: Program, kernel: Kernel, asked: Requested) -> LaunchConfiguration:
    """Check the requested settings. Raises LaunchError if the architecture does not allow them.

    Settings that equal those of the program's previous launch are not checked again.
    """
    key, last = _key(asked), program.remembered.get(configure)
    if last is None or last[0] != key:
        last = program.remembered[configure] = key, _checked(program, kernel, asked)
    found: LaunchConfiguration = last[1]
    return found


def _key(asked: Requested) -> list[tuple[type, Any]]:
    """Return a key that includes the types of the values, because True equals 1."""
    parts = [
        *_extents(asked.grid), None, *_extents(asked.block), None,
        *_extents(asked.cluster or ()), *asked[2:-1],
    ]  # fmt: skip
    return [*zip(map(type, parts), parts, strict=True)]


def _extents(value: int | Sequence[int]) -> Sequence[int]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _checked(program: Program, kernel: Kernel, asked: Requested) -> LaunchConfiguration:
    limits = _limits(asked.arch)
    cluster = clusters.extents(kernel, asked.cluster, limits)
    asked_shape = asked.grid, asked.block, asked.shared_bytes, asked.budget
    found = shape.checked(_compiled_for(program, kernel), limits, *asked_shape)
    chunk_threads = CHUNK_THREADS
    if asked.chunk_threads is not None:
        chunk_threads = arguments.whole("chunk_threads", asked.chunk_threads, 1, MOST_CHUNK_THREADS)
    jobs = arguments.whole("jobs", asked.jobs, 1)
    checks = arguments.flag("checks", asked.checks)
    blocks, threads = found.blocks, found.threads
    clusters.check_grid(kernel.name, cluster, found.grid)
    fitting = _fitting(program, threads, found.shared_bytes, checks)
    together = max(1, min(chunk_threads // threads, fitting, blocks))
    held = 0
    if grid_workspace.synchronises_grid(program):
        grid_workspace.check_fits(kernel.name, blocks, threads, fitting)
        together = blocks
    elif program.once(waiting_loops).heads:
        # Blocks may wait for others, as at a hand-written grid barrier, so as many execute together
        # as a device holds at once.
        held = min(_resident(threads, limits), blocks)
        if asked.chunk_threads is None:
            together = max(together, min(held, fitting))
    of_cluster = math.prod(cluster)
    together = max(of_cluster, together // of_cluster * of_cluster)
    return LaunchConfiguration(
        found.grid, found.block, found.shared_bytes, found.budget, found.dynamic_bytes, checks,
        jobs, together, held, fitting, cluster,
    )  # fmt: skip


def _compiled_for(program: Program, kernel: Kernel) -> CompiledFor:
    found = program.remembered.get(CompiledFor)
    if found is None:
        found = program.remembered[CompiledFor] = _directives(program, kernel)
    return found


def _directives(program: Program, kernel: Kernel) -> CompiledFor:
    exact, most = kernel.directives.get("reqntid"), kernel.directives.get("maxntid")
    x, y, z = (*exact, 1, 1)[:3] if exact else (1, 1, 1)
    return CompiledFor(
        kernel.name, (x, y, z) if exact else None, math.prod(most) if most else None,
        program.shared_static, program.local_bytes,
    )  # fmt: skip


def _resident(threads: int, limits: Architecture) -> int:
    """Count the blocks that fit on the architecture's representative device, considering only
    threads."""
    of_an_sm = min(limits.max_threads_per_sm // threads, limits.max_blocks_per_sm)
    return max(1, of_an_sm) * limits.representative.sm_count


def _limits(arch: str) -> Architecture:
    try:
        return architecture(str(arch))
    except UnknownArchitectureError as error:
        raise LaunchError(str(error)) from None


def _fitting(program: Program, threads: int, shared_bytes: int, checks: bool) -> int:
    """Return how many blocks may execute together, given their memory use."""
    local = threads * program.local_bytes
    if checks:
        local += local * _ORIGIN_BYTES // grain(program, "local")
        shared_bytes += shared_bytes * _STAMP_BYTES // grain(program, "shared")
    return max(1, BLOCK_MEMORY_BYTES // max(1, local + shared_bytes))
