"""Launching a kernel: everything is checked first, then chunks of blocks run one after another."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator import cooperative, module_variables
from harness.emulator.accesses import MAX_CHUNK_LANES
from harness.emulator.active import Geometry
from harness.emulator.checks import LaunchChecks
from harness.emulator.chunk import Chunk
from harness.emulator.engine import Engine
from harness.emulator.errors import LaunchError
from harness.emulator.faults import Fault, KernelFault
from harness.emulator.generate import Generated, generate
from harness.emulator.global_memory import MAX_ALLOCATIONS, GlobalMemory
from harness.emulator.kernel_names import find_kernel
from harness.emulator.program import Program
from harness.emulator.ptx import TYPE_SIZES, Kernel, Module, Param
from harness.emulator.report import LaunchReport, counters, instruction_counts
from harness.emulator.tally import Tally
from harness.emulator.translate import translate
from harness.silicon.architectures import Architecture, UnknownArchitectureError, architecture

Array = NDArray[Any]
Dim3 = tuple[int, int, int]

LEAST_BUDGET = 2**32
BUDGET_PER_THREAD = 2**16
LOCAL_MEMORY_BYTES = 2**28  # of all threads that execute together


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
) -> LaunchReport:
    """Execute a kernel on the CPU; arrays among the arguments are changed in place.

    `args` has one entry for each parameter: a NumPy array for a pointer, a number for a scalar,
    `bytes` for a struct; `names` are what messages call them. `shared_bytes` is dynamic shared
    memory. A launch that runs longer than `max_thread_instructions` (by default 2^32, or 2^16 a
    thread if that is more; an instruction that fewer than 256 threads execute together counts as
    256) ends with a fault. Raises UnknownInstruction and LaunchError before anything has run.
    """
    entry = find_kernel(module, kernel)
    kernel = entry.name
    limits = _limits(arch)
    grid3, block3 = _dim3("grid", grid, limits.max_grid), _dim3("block", block, limits.max_block)
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
    if cooperative.synchronises_grid(program):
        cooperative.check_fits(kernel, blocks, threads)
        cooperative.place_workspace(memory)
        chunk_threads = cooperative.MOST_LANES
    budget = max_thread_instructions
    if budget is None:
        budget = max(LEAST_BUDGET, BUDGET_PER_THREAD * blocks * threads)
    engine = Engine(program, generated.functions, budget)
    watch = LaunchChecks(program, grid3, block3, memory, params) if checks else None
    fault = _run(
        engine, program, tally, memory, params, grid3, block3, total_shared, chunk_threads, watch
    )
    instructions = instruction_counts(program, tally)
    return LaunchReport(
        kernel, grid3, block3, total_shared, counters(program, tally, instructions),
        () if fault is None else (fault,),
        sum(i.threads_predicated_on for i in instructions), instructions,
        tuple(text for _, text in sorted(tally.printed, key=lambda entry: entry[0])),
    )  # fmt: skip


def _run(
    engine: Engine, program: Program, tally: Tally, memory: GlobalMemory, params: bytes,
    grid: Dim3, block: Dim3, shared_bytes: int, chunk_threads: int, checks: LaunchChecks | None,
) -> Fault | None:  # fmt: skip
    blocks, threads = grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2]
    lanes = min(chunk_threads, MAX_CHUNK_LANES)
    lanes = min(lanes, LOCAL_MEMORY_BYTES // max(program.local_bytes, 1))
    together = min(max(1, lanes // threads), blocks)
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


def _dim3(what: str, value: int | Sequence[int], limits: Dim3) -> Dim3:
    given: Any = value
    parts = [given] if isinstance(given, numbers.Integral) else given
    if not isinstance(parts, Sequence) or not 1 <= len(parts) <= 3:
        raise LaunchError(f"{what} {value!r}: give an integer, or one to three of them")
    out = []
    for axis, part, limit in zip("xyz", (*parts, 1, 1)[:3], limits, strict=True):
        if isinstance(part, bool) or not isinstance(part, numbers.Integral):
            raise LaunchError(f"{what}.{axis} is {part!r}: give an integer")
        if not 1 <= int(part) <= limit:
            raise LaunchError(f"{what}.{axis} is {part}: it must be from 1 to {limit}")
        out.append(int(part))
    return out[0], out[1], out[2]


def _limits(arch: str) -> Architecture:
    try:
        return architecture(arch)
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
        limit = int(np.prod(most))
        if threads > limit:
            raise LaunchError(
                f"block {block} has {threads} threads; kernel `{kernel.name}` was compiled with "
                f"__launch_bounds__({limit})"
            )


def _shared(program: Program, dynamic: Any, limits: Architecture) -> int:
    if not isinstance(dynamic, numbers.Integral) or dynamic < 0:
        raise LaunchError(f"shared_bytes is {dynamic!r}: give a number of bytes, 0 or more")
    total = program.shared_static + int(dynamic)
    most = limits.max_shared_bytes_per_block
    if total > most:
        raise LaunchError(
            f"the kernel asks for {total} bytes of shared memory a block "
            f"({program.shared_static} static, {dynamic} dynamic); {limits.name} has {most}"
        )
    return total


# --- arguments and memory ---------------------------------------------------------------------


def _device(module: Module) -> _Device:
    if module.device is None:
        module.device = _Device({}, {})
    device: _Device = module.device
    return device


def _memory(
    module: Module, kernel: Kernel, args: Sequence[Any], names: Sequence[str] | None,
    device: _Device,
) -> tuple[GlobalMemory, bytes]:  # fmt: skip
    """Lay out the address space and pack the parameters."""
    if len(args) != len(kernel.params):
        wanted = ", ".join(f"{p.name}: {p.type}" for p in kernel.params) or "none"
        raise LaunchError(
            f"kernel `{kernel.name}` takes {len(kernel.params)} arguments, {len(args)} were given; "
            f"its parameters are {wanted}"
        )
    memory = GlobalMemory()
    module_variables.place(memory, module, device.variables)
    packed = bytearray()
    placed: dict[tuple[int, int], int] = {}
    for i, (param, arg) in enumerate(zip(kernel.params, args, strict=True)):
        packed += bytes(-len(packed) % param.align)
        label = f"`{names[i]}`" if names else f"argument {i} ({param.name})"
        packed += _pack(label, param, arg, memory, placed)
    memory.add("kernel parameters", np.frombuffer(bytes(packed), np.uint8), False)
    if len(memory.allocations) > MAX_ALLOCATIONS:
        raise LaunchError(f"{len(memory.allocations)} buffers; at most {MAX_ALLOCATIONS}")
    return memory, bytes(packed)


def _pack(
    label: str, param: Param, arg: Any, memory: GlobalMemory, placed: dict[tuple[int, int], int]
) -> bytes:
    where = f"{label}, a {param.type},"
    if isinstance(arg, np.ndarray):
        if param.size != 8 or param.is_array:
            raise LaunchError(f"{where} is an array, but the parameter is not a pointer")
        if not arg.flags.c_contiguous:
            raise LaunchError(f"{where} is not contiguous; pass np.ascontiguousarray(...)")
        if arg.dtype.hasobject:
            raise LaunchError(f"{where} holds Python objects; pass an array of numbers")
        key = (arg.__array_interface__["data"][0], arg.nbytes)
        if key not in placed or not arg.nbytes:
            data = arg.reshape(-1).view(np.uint8) if arg.nbytes else np.empty(0, np.uint8)
            placed[key] = memory.add(label, data, arg.flags.writeable).base
        return placed[key].to_bytes(8, "little")
    if isinstance(arg, (bytes, np.void)):
        raw = arg if isinstance(arg, bytes) else arg.tobytes()
        if len(raw) != param.size:
            raise LaunchError(f"{where} is {len(raw)} bytes; the parameter has {param.size}")
        return raw
    if param.is_array:
        raise LaunchError(f"{where} is a struct of {param.size} bytes; pass it as bytes")
    return _pack_scalar(where, param, arg)


def _pack_scalar(where: str, param: Param, arg: Any) -> bytes:
    if arg is None and param.size == 8:
        return bytes(8)  # a null pointer
    if param.type.startswith("f"):
        if isinstance(arg, bool) or not isinstance(arg, numbers.Real):
            raise LaunchError(f"{where} is {arg!r}; pass a number")
        return np.array(arg, f"f{param.size}").tobytes()
    if not isinstance(arg, (numbers.Integral, np.bool_)):
        raise LaunchError(f"{where} is {arg!r}; pass an integer" + _pointer_hint(param))
    # PTX does not keep the sign of a parameter, so both ranges of the width are accepted.
    bits = 8 * TYPE_SIZES[param.type]
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    if not low <= int(arg) <= high:
        raise LaunchError(f"{where} is {arg}, outside its {bits} bits ({low} to {high})")
    return (int(arg) & high).to_bytes(param.size, "little")


def _pointer_hint(param: Param) -> str:
    return ", or an array for a pointer" if param.size == 8 else ""
