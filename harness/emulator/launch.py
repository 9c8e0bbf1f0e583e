"""Launching a kernel: everything is checked first, then one of two engines executes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from harness.emulator import arguments, cooperative, module_variables, reference
from harness.emulator.faults import Fault
from harness.emulator.generate import Generated, generate
from harness.emulator.global_memory import GlobalMemory
from harness.emulator.kernel_names import find_kernel
from harness.emulator.native import run as native
from harness.emulator.observed import Observer
from harness.emulator.program import Program
from harness.emulator.ptx import Kernel, Module
from harness.emulator.report import EngineName, LaunchReport
from harness.emulator.setting import Asked, settle
from harness.emulator.tally import Tally
from harness.emulator.translate import translate

Array = NDArray[Any]


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
    chunk_threads: int | None = None,
    max_thread_instructions: int | None = None,
    checks: bool = True,
    engine: Literal["auto", "numpy"] = "auto",
    jobs: int = 1,
    observe: bool = False,
) -> LaunchReport:
    """Execute a kernel on the CPU; arrays among the arguments are changed in place.

    `args` has one entry for each parameter: a NumPy array for a pointer, a number for a scalar,
    `bytes` for a struct; `names` are what messages call them. `shared_bytes` is dynamic shared
    memory. `chunk_threads`: how many threads execute together in the NumPy engine; by default 2^16,
    or where blocks may wait for each other as many as a device holds. A launch that runs longer
    than `max_thread_instructions` (by default 2^32, or 2^16 a thread if that is more) ends with a
    fault; what fewer threads execute together counts as a warp in the native engine, as 256 threads
    in the NumPy engine. That one alone runs with `engine="numpy"`. `jobs`: blocks that may run at
    the same time where that changes nothing.
    `observe`: take note of every byte that is read and written, which the NumPy engine alone does.
    Raises UnknownInstruction and LaunchError before anything has run.
    """
    arguments.check_module(module, kernel)
    arguments.one_of("engine", engine, ("auto", "numpy"))
    observe = arguments.flag("observe", observe)
    entry = find_kernel(module, kernel)
    program, generated = _translated(module, entry)
    asked = Asked(
        grid, block, shared_bytes, arch, chunk_threads, max_thread_instructions, checks, jobs
    )
    setting = settle(program, entry, asked)
    memory, params = _memory(module, entry, program, args, names)
    tally = Tally(len(program.sites), len(program.blocks))
    by: EngineName = "numpy"
    observer = Observer(memory, len(_device(module).variables)) if observe else None
    if observer is None and engine == "auto" and not native.why_not(program, setting):
        try:
            fault = native.run(program, setting, memory, params, tally)
            by = "native"
        except native.GivenUp:
            memory, params = _memory(module, entry, program, args, names)
            tally = Tally(len(program.sites), len(program.blocks))
            fault = reference.run(program, generated, setting, memory, params, tally)
            if fault is None:
                native.cleared(program)
    else:
        fault = reference.run(program, generated, setting, memory, params, tally, observer)
    faults: tuple[Fault, ...] = () if fault is None else (fault,)
    printed = tuple(text for _, text in sorted(tally.printed, key=lambda entry: entry[0]))
    return LaunchReport(
        entry.name, setting.grid, setting.block, setting.shared_bytes, faults, printed, by, program,
        tally, tuple(memory.allocations), observer.observed if observer else (),
    )  # fmt: skip


def variables(module: Module) -> dict[str, Array]:
    """The bytes of the module's `__device__` variables by name, as the next launch will find them.

    They are the contents themselves: what is written to them is there for the next launch.
    """
    arguments.check_module(module, "")
    contents = _device(module).variables
    module_variables.place(GlobalMemory(), module, contents)
    return {name: contents[name] for name in module_variables.writable(module)}


def _translated(module: Module, kernel: Kernel) -> tuple[Program, Generated]:
    programs = _device(module).programs
    if kernel.name not in programs:
        program = translate(module, kernel)
        programs[kernel.name] = program, generate(program)
    return programs[kernel.name]


def _device(module: Module) -> _Device:
    if module.device is None:
        module.device = _Device({}, {})
    device: _Device = module.device
    return device


def _memory(
    module: Module, kernel: Kernel, program: Program, args: Sequence[Any],
    names: Sequence[str] | None,
) -> tuple[GlobalMemory, bytes]:  # fmt: skip
    """The address space of a launch, and its packed parameters."""
    memory = GlobalMemory()
    module_variables.place(memory, module, _device(module).variables)
    params = arguments.pack(kernel, args, names, memory)
    if cooperative.synchronises_grid(program):
        cooperative.place_workspace(memory)
    return memory, params
