"""Launch a kernel: check everything, run it fast, and fall back to the judge if needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import judging, native
from harness.emulator.engine.configuration import Requested, configure
from harness.emulator.engine.report import EngineName, LaunchReport
from harness.emulator.memory import arguments, grid_workspace, module_variables
from harness.emulator.memory.address_space import AddressSpace, address_of_slot
from harness.emulator.memory.heap import Heap, heap_for
from harness.emulator.program.analysis.access_kinds import of_mbarriers
from harness.emulator.program.ir import Program
from harness.emulator.program.translate import translate
from harness.emulator.ptx.kernel_names import find_kernel
from harness.emulator.ptx.syntax import Kernel, Module
from harness.emulator.results.faults import Fault

Array = NDArray[Any]


@dataclass
class _Device:
    """The state that persists between launches: translated kernels, contents of module variables,
    and the heap if the module allocates from it.
    """

    programs: dict[str, Program]
    variables: dict[str, Array]
    heap: Heap | None


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
    chunk_threads: int | None = None,
    max_thread_instructions: int | None = None,
    checks: bool = True,
    engine: Literal["auto", "judge"] = "auto",
    jobs: int = 1,
    observe: bool = False,
    written: Mapping[int, Array] | None = None,
    schedule: int | None = None,
    cluster: int | Sequence[int] | None = None,
    buffers: Sequence[Array] = (),
    waits: bool = False,
    written_buffers: Mapping[int, Array] | None = None,
) -> LaunchReport:
    """Execute a kernel on the CPU; arrays among the arguments are changed in place.

    `args` has one entry for each parameter: a NumPy array for a pointer, a number for a scalar, and
    for a struct its `bytes` or a tuple of its members; `names` are the arguments' names in
    messages. `shared_bytes` is dynamic shared memory. `chunk_threads`: how many threads the judge
    executes together; by default 2^16 or, if blocks may wait for each other, as many as a device
    holds. A launch that runs longer than `max_thread_instructions` (by default 2^32, or 2^16 per
    thread if that is more) ends with a fault; a partly active warp counts as a whole one. With
    `engine="judge"`, the judge runs it from the start. `jobs`: the number of blocks that may run at
    the same time, where that does not affect results. `observe`: record every byte that is read and
    written, which only the judge does. `written`: for each uninitialised argument, by position, an
    array that tells whether each of its bytes has been written. Using an uninitialised byte is then
    a fault; the arrays are updated, so they can be passed to the next launch. `schedule`: the order
    of warps, by number, which only the judge uses; by default the usual one, 0. For a small launch
    of a kernel with flags, tickets or locks, the judge also tries several other orders to find
    faults. `cluster`: dimensions of a thread block cluster in blocks, if the kernel is not compiled
    for one. `buffers`: arrays that pointers in memory point to, each at its `buffer_address`.
    `written_buffers`: like `written`, for arrays among `buffers`, by their number. `waits`: record
    the threads' waits at mbarriers, which requires the judge and `checks`. Raises
    UnknownInstruction and LaunchError before anything has run.
    """
    arguments.check_module(module, kernel)
    arguments.one_of("engine", engine, ("auto", "judge"))
    observe = arguments.flag("observe", observe)
    if schedule is not None:
        schedule = arguments.whole("schedule", schedule, 0, 2**31 - 1)
    entry = find_kernel(module, kernel)
    program = _translated(module, entry)
    asked = Requested(
        grid, block, shared_bytes, arch, chunk_threads, max_thread_instructions, checks, jobs,
        cluster,
    )  # fmt: skip
    configuration = configure(program, entry, asked)
    memory, params = _memory(module, entry, program, args, names, buffers)
    maps = {buffer_address(module, n): known for n, known in (written_buffers or {}).items()}
    arguments.track_first_writes(program, memory, params, args, written, maps)
    by: EngineName = "judge"
    notes = waits and any(of_mbarriers(site.opcode) for site in program.sites)
    judge = partial(judging.run_in_orders if schedule is None else judging.run, waits=notes)
    needs_the_judge = notes or bool(native.only_judged(program, configuration))
    if observe or schedule:
        variables = len(_device(module).variables) if observe else None
        found = judging.run(
            program, configuration, memory, params, variables, schedule or 0, waits=notes
        )  # fmt: skip
    elif needs_the_judge or engine == "judge":
        found = judge(program, configuration, memory, params)
    else:
        try:
            if schedule is None and native.goes_in_step(program):
                found = judging.run_in_orders(program, configuration, memory, params, native.run)
            else:
                found = native.run(program, configuration, memory, params)
            # Any other fault was found by the judge, in another order.
            by = "native" if found.fault is None or found.fault.kind == "budget" else "judge"
        except native.GivenUp:
            memory, params = _memory(module, entry, program, args, names, buffers)
            arguments.track_first_writes(program, memory, params, args, written, maps)
            found = judge(program, configuration, memory, params)
            if found.fault is None:
                native.cleared(program)
    faults: tuple[Fault, ...] = () if found.fault is None else (found.fault,)
    printed = tuple(text for _, text in sorted(found.printed, key=lambda entry: entry[0]))
    return LaunchReport(
        entry.name, configuration.grid, configuration.block, configuration.shared_bytes, faults,
        printed, by, program, found.counts, tuple(memory.allocations), found.observed,
        found.remarks, found.waited,
    )  # fmt: skip


def variables(module: Module) -> dict[str, Array]:
    """The bytes of the module's `__device__` variables by name, as the next launch will see them.

    The arrays are the actual contents: the next launch sees changes to them.
    """
    contents = _contents(module)
    return {name: contents[name] for name in module_variables.writable(module)}


def variable(module: Module, name: str, dtype: Any = np.uint8) -> Array:
    """A `__device__` or `__constant__` variable as an array, to be read or set before a launch.

    `name` is as in the PTX, or as in the source if only one variable has it. The array is the
    variable itself: `variable(module, "weights", np.float32)[:] = weights`.
    """
    return module_variables.named(_contents(module), name, dtype)


def variable_addresses(module: Module) -> dict[str, int]:
    """The address of each `__device__` and `__constant__` variable, the same in every launch."""
    return {name: address_of_slot(slot) for slot, name in enumerate(_contents(module))}


def buffer_address(module: Module, number: int) -> int:
    """The address at which a launch places `buffers[number]`. The module's variables and its heap
    come first."""
    first = len(_contents(module)) + (_device(module).heap is not None)
    return address_of_slot(first + number)


def _contents(module: Module) -> dict[str, Array]:
    """The bytes of all variables, which have their initial values if nothing has been launched
    yet."""
    arguments.check_module(module, "")
    contents = _device(module).variables
    module_variables.place(AddressSpace(), module, contents)
    return contents


def _translated(module: Module, kernel: Kernel) -> Program:
    programs = _device(module).programs
    if kernel.name not in programs:
        programs[kernel.name] = translate(module, kernel)
    return programs[kernel.name]


def _device(module: Module) -> _Device:
    if module.device is None:
        module.device = _Device({}, {}, heap_for(module.functions))
    device: _Device = module.device
    return device


def _memory(
    module: Module, kernel: Kernel, program: Program, args: Sequence[Any],
    names: Sequence[str] | None, buffers: Sequence[Array],
) -> tuple[AddressSpace, bytes]:  # fmt: skip
    """Build the address space of a launch, and pack its parameters."""
    memory = AddressSpace()
    device = _device(module)
    module_variables.place(memory, module, device.variables)
    if device.heap:
        device.heap.place(memory)
    params = arguments.pack(kernel, args, names, memory, buffers=buffers)
    if grid_workspace.synchronises_grid(program):
        grid_workspace.place_workspace(memory)
    return memory, params
