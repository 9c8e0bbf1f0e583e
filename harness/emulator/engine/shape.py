"""The shape of a launch, checked against the architecture and the compiled code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from harness.emulator.errors import LaunchError, shown
from harness.emulator.memory import arguments
from harness.silicon.architectures import Architecture

Dim3 = tuple[int, int, int]

LEAST_BUDGET, BUDGET_PER_THREAD = 2**32, 2**16
MOST_BUDGET = 2**62
BLOCK_MEMORY_BYTES = 2**28  # for all blocks that execute together, including the checks' data


@dataclass(frozen=True)
class CompiledFor:
    """A kernel's compiled-in launch constraints.

    `block`: the only block shape allowed. `most_threads`: the maximum per block, from
    `__launch_bounds__`. `shared_bytes`: static, per block. `local_bytes`: per thread.
    """

    kernel: str
    block: Dim3 | None
    most_threads: int | None
    shared_bytes: int
    local_bytes: int


@dataclass(frozen=True)
class Shape:
    """The dimensions and limits of a launch. `shared_bytes`: per block, static and dynamic.
    `budget`: in thread instructions. `dynamic_bytes`: the dynamic part of shared memory."""

    grid: Dim3
    block: Dim3
    shared_bytes: int
    budget: int
    dynamic_bytes: int

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        return math.prod(self.block)


def checked(
    code: CompiledFor, limits: Architecture, grid: Any, block: Any, dynamic: Any, budget: Any
) -> Shape:
    """Check the shape that a caller requests; dynamic: bytes of dynamic shared memory. Raises
    LaunchError."""
    grid = arguments.dim3("grid", grid, limits.max_grid)
    block = arguments.dim3("block", block, limits.max_block)
    threads = math.prod(block)
    _check_threads(code, limits, block, threads)
    shared_bytes = _shared(code, limits, dynamic)
    local = threads * code.local_bytes
    if local > BLOCK_MEMORY_BYTES:
        raise LaunchError(
            f"a block of {threads} threads with {code.local_bytes} bytes of local memory each "
            f"takes {local} bytes; the emulator has {BLOCK_MEMORY_BYTES}: use smaller blocks or "
            "smaller arrays"
        )
    if budget is None:
        budget = max(LEAST_BUDGET, BUDGET_PER_THREAD * math.prod(grid) * threads)
    budget = arguments.whole("max_thread_instructions", budget, 1, MOST_BUDGET)
    return Shape(grid, block, shared_bytes, budget, shared_bytes - code.shared_bytes)


def _check_threads(code: CompiledFor, limits: Architecture, block: Dim3, threads: int) -> None:
    if threads > limits.max_threads_per_block:
        raise LaunchError(
            f"block {block} has {threads} threads; a block has at most "
            f"{limits.max_threads_per_block}"
        )
    if code.block is not None and code.block != block:
        raise LaunchError(
            f"block {block}: kernel `{code.kernel}` was compiled for {code.block} threads"
        )
    if code.most_threads is not None and threads > code.most_threads:
        raise LaunchError(
            f"block {block} has {threads} threads; kernel `{code.kernel}` was compiled with "
            f"__launch_bounds__({code.most_threads})"
        )


def _shared(code: CompiledFor, limits: Architecture, dynamic: Any) -> int:
    dynamic = arguments.whole("shared_bytes", dynamic, 0)
    total = code.shared_bytes + dynamic
    if total > limits.max_shared_bytes_per_block:
        raise LaunchError(
            f"the kernel asks for {shown(total)} bytes of shared memory per block "
            f"({code.shared_bytes} static, {shown(dynamic)} dynamic); {limits.name} has "
            f"{limits.max_shared_bytes_per_block}"
        )
    return total
