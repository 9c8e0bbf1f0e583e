"""Compile all kernels and host functions before anything runs, each unit once.

The emulator's engine is also compiled if this machine has not compiled it yet, because every
verification needs it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends import machine_code
from harness.cases import Case, Device, Shape, Step
from harness.compiler import compile as compiler
from harness.compiler.compile import Built, Unit
from harness.compiler.functions import host
from harness.compiler.functions.host import HostLibrary
from harness.compiler.toolchain import Toolchain
from harness.console.progress import stage
from harness.emulator.engine import library as engine
from harness.errors import CompileError, CompilerStopped
from harness.journal.records import Compiled
from harness.silicon.occupancy import Occupancy, waves

ENGINE_UNITS = 100
"""The number of kernels that together take as long to compile as the engine."""


@dataclass(frozen=True)
class Compilation:
    """The result of compilation for the cases.

    `built`: kernels, by the case's id. `ready`: the ids of all cases that can run, including those
    with a Python function, which needs no compiling. `refused`: why launch shapes were rejected.
    """

    built: dict[str, Built] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    refused: dict[Shape, str] = field(default_factory=dict)
    stopped: set[Shape] = field(default_factory=set)
    """The shapes that were rejected because the compiler was stopped, not because of an error in
    their sources."""


def compile_all(
    cases: Iterable[Case], kernels: Path, arch: str, lists: bool = False
) -> Compilation:
    """Compile everything that the cases need, in parallel; one failure does not affect other
    cases.

    `lists`: also disassemble the machine code for the emulator. At this point one call of the
    disassembler serves many kernels; later, each variant would need a call of its own.
    """
    cases = list(cases)
    units = _units(cases, "kernel", compiler.unit, kernels, arch)
    hosts = _units(cases, "host", host.unit, kernels, arch)
    with_engine = bool(cases) and engine.is_to_compile()
    steps = len(set(units.values())) + len(set(hosts.values())) + with_engine
    with stage("compile", steps) as advance, ThreadPoolExecutor(1) as beside:
        compiling = beside.submit(engine.load) if with_engine else None

        def done(one: Unit) -> None:
            advance(one.source.name)

        functions = dict.fromkeys(hosts.values())

        def make(one: Unit, found: Toolchain) -> Built | HostLibrary:
            return (host.build if one in functions else compiler.build)(one, found)

        # Host functions first: one that includes all of CUB takes as long as twenty kernels.
        results = compiler.in_parallel([*functions, *units.values()], make, done)
        if lists:
            made = (each for each in results.values() if isinstance(each, Built))
            machine_code.list_together(machine_code.unlisted(made))
        if compiling:  # every worker needs the engine, and would report its errors
            compiling.result()
            advance("the emulator's engine, once for this machine")
    found = Compilation()
    for case in cases:
        result: Built | HostLibrary | CompileError | None = None
        if case.kind == "kernel":
            result = _with_its_kernels(case, results[units[case.id]])
        elif case.kind == "host":
            result = results[hosts[case.id]]
        if isinstance(result, CompileError):
            found.refused[case.shape] = str(result)
            if isinstance(result, CompilerStopped):
                found.stopped.add(case.shape)
            continue
        found.ready.add(case.id)
        if isinstance(result, Built):
            found.built[case.id] = result
    return found


def to_compile(cases: Iterable[Case], kernels: Path, arch: str) -> int:
    """The number of units that have never been compiled here, as far as can be determined in
    advance.

    The engine counts as `ENGINE_UNITS` units, which together take as long to compile.
    """
    cases = list(cases)
    found = ENGINE_UNITS if cases and engine.is_to_compile() else 0
    for kind, made in (("kernel", compiler), ("host", host)):
        units = dict.fromkeys(_units(cases, kind, made.unit, kernels, arch).values())
        with suppress(CompileError):  # no nvcc, or no file: compiling reports it
            found += sum(not made.is_kept(unit) for unit in units)
    return found


def built_again(cases: Iterable[Case], kernels: Path, arch: str) -> dict[str, Built]:
    """The kernels of cases that ran before, read from the cache. Raises CompileError."""
    units = _units(cases, "kernel", compiler.unit, kernels, arch)
    results = compiler.build_all(list(units.values()))
    found = {}
    for name, unit in units.items():
        result = results[unit]
        if isinstance(result, CompileError):
            raise result
        found[name] = result
    return found


def described(case: Case, built: Built, device: Device) -> tuple[list[Compiled], str]:
    """The compiler's results for each step and, if a step does not fit on a multiprocessor, the
    reason."""
    found, refusal = [], ""
    for index, step in enumerate(case.steps):
        made = built.kernels[compiler.kernel_name(step.kernel, built, case.source)]
        shared = made.shared_bytes + step.shared_bytes
        occupancy = compiler.occupancy(made, step, device.limits)
        found.append(Compiled(
            case.id, index, step.kernel, built.source_sha256, built.cubin_sha256, made.registers,
            shared, made.spill_bytes, made.stack_bytes, step.threads_per_block, occupancy.ratio,
            occupancy.limiter, made.sass_sha256, _waves(step, occupancy, device),
            made.local_at, made.loaded_sha256,
        ))  # fmt: skip
        if occupancy.blocks_per_sm == 0:
            refusal = (
                f"{step.kernel}: a block of {step.threads_per_block} threads with "
                f"{made.registers} registers each and {shared} bytes of shared memory fits no "
                f"multiprocessor: too many {occupancy.limiter}"
            )
    return found, refusal


def _waves(step: Step, occupancy: Occupancy, device: Device) -> float | None:
    if not occupancy.blocks_per_sm:
        return None
    found = waves(math.prod(step.grid), occupancy.blocks_per_sm, device.sm_count)
    return found.count - 1 + found.tail_fill


def _with_its_kernels(
    case: Case, result: Built | HostLibrary | CompileError
) -> Built | HostLibrary | CompileError:
    """Return the unit if it contains every kernel that the case launches; otherwise say which is
    missing."""
    if not isinstance(result, Built):
        return result
    try:
        for step in case.steps:
            compiler.kernel_name(step.kernel, result, Path(case.source).name)
    except CompileError as error:
        return error
    return result


def _units(
    cases: Iterable[Case], kind: str, unit: Callable[[Case, Path, str], Unit], kernels: Path,
    arch: str,
) -> dict[str, Unit]:  # fmt: skip
    """The units to compile for the cases of a kind, by their ids."""
    return {case.id: unit(case, kernels, arch) for case in cases if case.kind == kind}
