"""The NumPy engine's run of a launch: chunks of blocks, one after another."""

from __future__ import annotations

import numpy as np

from harness.emulator.engine.configuration import LaunchConfiguration
from harness.emulator.engine.faults import fault_at
from harness.emulator.engine.judge.checks.launch_checks import LaunchChecks
from harness.emulator.engine.judge.chunk import Chunk
from harness.emulator.engine.judge.generate import generate
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Geometry
from harness.emulator.engine.judge.memory.costs import AccessCounts
from harness.emulator.engine.judge.memory.global_memory import GlobalMemory
from harness.emulator.engine.judge.memory.observer import Observer
from harness.emulator.engine.judge.scheduler import Engine
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.program.ir import Program
from harness.emulator.results.faults import Fault
from harness.emulator.results.observed import Observed


def run(
    program: Program, configuration: LaunchConfiguration, space: AddressSpace, params: bytes,
    variables: int | None = None,
) -> tuple[Fault | None, AccessCounts, tuple[Observed, ...]]:  # fmt: skip
    """Execute all blocks, or until something goes wrong.

    `variables`: observe every byte; so many of the first buffers are variables of the module.
    """
    memory = GlobalMemory(space)
    counts = AccessCounts(len(program.sites), len(program.blocks))
    observer = Observer(space, variables) if variables is not None else None
    fault = _execute(program, configuration, memory, params, counts, observer)
    return fault, counts, observer.observed if observer else ()


def _execute(
    program: Program, configuration: LaunchConfiguration, memory: GlobalMemory, params: bytes,
    counts: AccessCounts, observer: Observer | None,
) -> Fault | None:  # fmt: skip
    engine = Engine(program, program.once(generate).functions, configuration.budget)
    checks = None
    if configuration.checks:
        checks = LaunchChecks(program, configuration.grid, configuration.block, memory, params)
    if observer is not None:
        observer.attach(memory)
    chunk: Chunk | None = None
    fault: Fault | None = None
    with np.errstate(all="ignore"):
        for first in range(0, configuration.blocks, configuration.chunk_blocks):
            size = min(configuration.chunk_blocks, configuration.blocks - first)
            if chunk is None or chunk.geometry.blocks != size:
                chunk = Chunk(
                    program, Geometry(size, configuration.threads), configuration.grid,
                    configuration.block, configuration.shared_bytes, memory, counts, params, checks,
                )  # fmt: skip
            chunk.start(first)
            try:
                engine.run(chunk)
            except KernelFault as found:
                fault = _fault(found, chunk, program)
                break
    if checks is not None:
        counts.remarks = checks.race_report.remarks
    return fault


def _fault(found: KernelFault, chunk: Chunk, program: Program) -> Fault:
    where = chunk.block_index(found.lanes, found.position)
    return fault_at(program.sites[found.site].location, found.kind, found.message, *where)
