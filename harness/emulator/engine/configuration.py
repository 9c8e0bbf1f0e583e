"""What a launch asks for besides its arguments, checked against what the architecture allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory import arguments, grid_workspace
from harness.emulator.program.access_kinds import grain
from harness.emulator.program.ir import Program
from harness.emulator.program.waiting_loops import waiting_loops
from harness.emulator.ptx.syntax import Kernel
from harness.silicon.architectures import Architecture, UnknownArchitectureError, architecture

Dim3 = tuple[int, int, int]

LEAST_BUDGET = 2**32
BUDGET_PER_THREAD = 2**16
CHUNK_THREADS = 2**16
MOST_CHUNK_THREADS = 2**20
BLOCK_MEMORY_BYTES = 2**28  # shared and local memory, and what is known of it, of a chunk
_STAMP_BYTES = 28  # of a word of shared memory that is watched
_ORIGIN_BYTES = 4  # of a word of local memory that is watched


@dataclass(frozen=True)
class LaunchConfiguration:
    """The shape of a launch, and how it is to be executed.

    shared_bytes: of a block, static and dynamic. budget: thread instructions. checks: whether to
    look for races and for reads of what nothing wrote. jobs: blocks that may run at the same time
    in the fast run. chunk_blocks: blocks that the judge executes together.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int
    budget: int
    checks: bool
    jobs: int
    chunk_blocks: int

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)


@dataclass(frozen=True)
class Requested:
    """The same as the caller gave it."""

    grid: int | Sequence[int]
    block: int | Sequence[int]
    shared_bytes: int
    arch: str
    chunk_threads: int | None
    budget: int | None
    checks: bool
    jobs: int


def configure(program: Program, kernel: Kernel, asked: Requested) -> LaunchConfiguration:
    """Raises LaunchError for what the architecture does not allow."""
    limits = _limits(asked.arch)
    grid = arguments.dim3("grid", asked.grid, limits.max_grid)
    block = arguments.dim3("block", asked.block, limits.max_block)
    chunk_threads = CHUNK_THREADS
    if asked.chunk_threads is not None:
        chunk_threads = arguments.whole("chunk_threads", asked.chunk_threads, 1, MOST_CHUNK_THREADS)
    jobs = arguments.whole("jobs", asked.jobs, 1)
    checks = arguments.flag("checks", asked.checks)
    blocks, threads = math.prod(grid), math.prod(block)
    budget = asked.budget
    if budget is None:
        budget = max(LEAST_BUDGET, BUDGET_PER_THREAD * blocks * threads)
    budget = arguments.whole("max_thread_instructions", budget, 1)
    _check_block(kernel, block, threads, limits)
    shared_bytes = _shared(program, asked.shared_bytes, limits)
    fitting = _fitting(program, threads, shared_bytes, checks)
    together = max(1, min(chunk_threads // threads, fitting, blocks))
    if grid_workspace.synchronises_grid(program):
        grid_workspace.check_fits(kernel.name, blocks, threads, fitting)
        together = blocks
    elif asked.chunk_threads is None and program.once(waiting_loops).heads:
        # Blocks may wait for others, as at a barrier of the grid written by hand: those that a
        # device holds at once are there at once.
        together = max(together, min(_resident(threads, limits), fitting, blocks))
    return LaunchConfiguration(grid, block, shared_bytes, budget, checks, jobs, together)


def _resident(threads: int, limits: Architecture) -> int:
    """How many blocks the architecture's representative device holds, as far as threads go."""
    of_an_sm = min(limits.max_threads_per_sm // threads, limits.max_blocks_per_sm)
    return max(1, of_an_sm) * limits.representative.sm_count


def _limits(arch: str) -> Architecture:
    try:
        return architecture(str(arch))
    except UnknownArchitectureError as error:
        raise LaunchError(str(error)) from None


def _check_block(kernel: Kernel, block: Dim3, threads: int, limits: Architecture) -> None:
    most_threads = limits.max_threads_per_block
    if threads > most_threads:
        raise LaunchError(
            f"block {block} has {threads} threads; a block has at most {most_threads}"
        )
    exact = kernel.directives.get("reqntid")
    if exact is not None and (*exact, 1, 1)[:3] != block:
        raise LaunchError(f"block {block}: kernel `{kernel.name}` was compiled for {exact} threads")
    most = kernel.directives.get("maxntid")
    if most is not None:
        limit = math.prod(most)
        if threads > limit:
            raise LaunchError(
                f"block {block} has {threads} threads; kernel `{kernel.name}` was compiled with "
                f"__launch_bounds__({limit})"
            )


def _shared(program: Program, dynamic: Any, limits: Architecture) -> int:
    dynamic = arguments.whole("shared_bytes", dynamic, 0)
    total = program.shared_static + dynamic
    most = limits.max_shared_bytes_per_block
    if total > most:
        raise LaunchError(
            f"the kernel asks for {shown(total)} bytes of shared memory per block "
            f"({program.shared_static} static, {shown(dynamic)} dynamic); {limits.name} has {most}"
        )
    return total


def _fitting(program: Program, threads: int, shared_bytes: int, checks: bool) -> int:
    """How many blocks may execute together by the memory that they take."""
    local = threads * program.local_bytes
    if local > BLOCK_MEMORY_BYTES:
        raise LaunchError(
            f"a block of {threads} threads with {program.local_bytes} bytes of local memory each "
            f"takes {local} bytes; the emulator has {BLOCK_MEMORY_BYTES}: use smaller blocks or "
            "smaller arrays"
        )
    if checks:
        local += local * _ORIGIN_BYTES // grain(program, "local")
        shared_bytes += shared_bytes * _STAMP_BYTES // grain(program, "shared")
    return max(1, BLOCK_MEMORY_BYTES // max(1, local + shared_bytes))
