"""Launching a kernel: everything is checked first, then chunks of blocks run one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.emulator import arguments, cooperative, module_variables
from harness.emulator.active import Geometry
from harness.emulator.checks import LaunchChecks, grain
from harness.emulator.chunk import Chunk
from harness.emulator.engine import Engine
from harness.emulator.errors import LaunchError, shown
from harness.emulator.faults import Fault, KernelFault
from harness.emulator.generate import Generated, generate
from harness.emulator.global_memory import GlobalMemory
from harness.emulator.kernel_names import find_kernel
from harness.emulator.native import run as native
from harness.emulator.native.run import Setting
from harness.emulator.program import Program
from harness.emulator.ptx import Kernel, Module
from harness.emulator.report import LaunchReport
from harness.emulator.tally import Tally
from harness.emulator.translate import translate
from harness.silicon.architectures import Architecture, UnknownArchitectureError, architecture

Array = NDArray[Any]
Dim3 = tuple[int, int, int]

LEAST_BUDGET = 2**32
BUDGET_PER_THREAD = 2**16
MOST_CHUNK_THREADS = 2**20
BLOCK_MEMORY_BYTES = 2**28  # shared and local memory, and what is known of it, of a chunk
_STAMP_BYTES = 24  # of a word of shared memory that is watched


@dataclass
class _Device:
    """What outlives a launch: translated kernels, and the contents of module variables."""

    programs: dict[str, tuple[Program, Generated]]
    variables: dict[str, Array]


def launch(
    module: Module,
    kernel: str,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any],
    shared_bytes: int = 0,
    *,
    names: Sequence[str] | None = None,
    arch: str = "sm_90",
    chunk_threads: int = 65536,
    max_thread_instructions: int | None = None,
    checks: bool = True,
    engine: Literal["auto", "numpy"] = "auto",
    jobs: int = 1,
) -> LaunchReport:
    """Execute a kernel on the CPU; arrays among the arguments are changed in place.

    `args` has one entry for each parameter: a NumPy array for a pointer, a number for a scalar,
    `bytes` for a struct; `names` are what messages call them. `shared_bytes` is dynamic shared
    memory. A launch that runs longer than `max_thread_instructions` (by default 2^32, or 2^16 a
    thread if that is more; an instruction that fewer than 256 threads execute together counts as
    256) ends with a fault. Raises UnknownInstruction and LaunchError before anything has run.
    """
    arguments.check_module(module, kernel)
    entry = find_kernel(module, kernel)
    kernel = entry.name
    limits = _limits(arch)
    grid3 = arguments.dim3("grid", grid, limits.max_grid)
    block3 = arguments.dim3("block", block, limits.max_block)
    chunk_threads = arguments.whole("chunk_threads", chunk_threads, 1, MOST_CHUNK_THREADS)
    budget = max_thread_instructions
    if budget is not None:
        budget = arguments.whole("max_thread_instructions", budget, 1)
    threads = block3[0] * block3[1] * block3[2]
    _check_block(entry, block3, threads, limits)
    device = _device(module)
    if kernel not in device.programs:
        program = translate(module, entry)
        device.programs[kernel] = program, generate(program)
    program, generated = device.programs[kernel]
    total_shared = _shared(program, shared_bytes, limits)
    memory, params = _memory(module, entry, args, names, device)
    tally = Tally(len(program.sites), len(program.blocks))
    blocks = grid3[0] * grid3[1] * grid3[2]
    fitting = _fitting(program, threads, total_shared, checks)
    together = max(1, min(chunk_threads // threads, fitting, blocks))
    if cooperative.synchronises_grid(program):
        cooperative.check_fits(kernel, blocks, threads, fitting)
        cooperative.place_workspace(memory)
        together = blocks
    if budget is None:
        budget = max(LEAST_BUDGET, BUDGET_PER_THREAD * blocks * threads)
    setting = Setting(grid3, block3, total_shared, budget, checks, jobs)
    by: Literal["native", "numpy"] = "numpy"
    outcome: bool | Fault = False
    suspected = False
    if engine == "auto" and not native.why_not(program, setting):
        outcome = native.run(program, setting, memory, params, tally)
        suspected = outcome is False
        if suspected:  # what it counted does not count
            memory, params = _memory(module, entry, args, names, device)
            tally = Tally(len(program.sites), len(program.blocks))
        else:
            by = "native"
    if outcome is False:
        watch = LaunchChecks(program, grid3, block3, memory, params) if checks else None
        fault = _run(
            Engine(program, generated.functions, budget), program, tally, memory, params, grid3,
            block3, total_shared, together, watch,
        )  # fmt: skip
        if suspected and fault is None:
            native.cleared(program)
    else:
        fault = None if outcome is True else outcome
    printed = tuple(text for _, text in sorted(tally.printed, key=lambda entry: entry[0]))
    return LaunchReport(
        kernel, grid3, block3, total_shared, () if fault is None else (fault,), printed, by,
        program, tally, tuple(memory.allocations),
    )  # fmt: skip


def _run(
    engine: Engine, program: Program, tally: Tally, memory: GlobalMemory, params: bytes,
    grid: Dim3, block: Dim3, shared_bytes: int, together: int, checks: LaunchChecks | None,
) -> Fault | None:  # fmt: skip
    blocks = grid[0] * grid[1] * grid[2]
    threads = block[0] * block[1] * block[2]
    chunk: Chunk | None = None
    with np.errstate(all="ignore"):
        for first in range(0, blocks, together):
            size = min(together, blocks - first)
            if chunk is None or chunk.geometry.blocks != size:
                geometry = Geometry(size, threads)
                chunk = Chunk(
                    program, geometry, grid, block, shared_bytes, memory, tally, params, checks
                )
            chunk.start(first)
            try:
                engine.run(chunk)
            except KernelFault as found:
                return _fault(found, chunk, program)
    return None


def _fault(found: KernelFault, chunk: Chunk, program: Program) -> Fault:
    location = program.sites[found.site].location
    block, thread = chunk.block_index(found.lanes, found.position)
    file, line = (location.file, location.line) if location else ("", 0)
    return Fault(found.kind, found.message, file, line, block, thread)


# --- checks -----------------------------------------------------------------------------------


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
            f"the kernel asks for {shown(total)} bytes of shared memory a block "
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
        local += local // grain(program, "local")
        shared_bytes += shared_bytes * _STAMP_BYTES // grain(program, "shared")
    return max(1, BLOCK_MEMORY_BYTES // max(1, local + shared_bytes))


def _device(module: Module) -> _Device:
    if module.device is None:
        module.device = _Device({}, {})
    device: _Device = module.device
    return device


def _memory(
    module: Module, kernel: Kernel, args: Sequence[Any], names: Sequence[str] | None,
    device: _Device,
) -> tuple[GlobalMemory, bytes]:  # fmt: skip
    """The address space of a launch, and its packed parameters."""
    memory = GlobalMemory()
    module_variables.place(memory, module, device.variables)
    return memory, arguments.pack(kernel, args, names, memory)
