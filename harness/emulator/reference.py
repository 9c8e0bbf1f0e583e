"""The NumPy engine's run of a launch: chunks of blocks, one after another."""

from __future__ import annotations

import numpy as np

from harness.emulator.active import Geometry
from harness.emulator.checks import LaunchChecks
from harness.emulator.chunk import Chunk
from harness.emulator.engine import Engine
from harness.emulator.faults import Fault, KernelFault, fault_at
from harness.emulator.generate import Generated
from harness.emulator.global_memory import GlobalMemory
from harness.emulator.observed import Observer
from harness.emulator.program import Program
from harness.emulator.setting import Setting
from harness.emulator.tally import Tally


def run(
    program: Program, generated: Generated, setting: Setting, memory: GlobalMemory, params: bytes,
    tally: Tally, observer: Observer | None = None,
) -> Fault | None:  # fmt: skip
    """Execute all blocks, or until something goes wrong; the observer is told of every access."""
    engine = Engine(program, generated.functions, setting.budget)
    checks = None
    if setting.checks:
        checks = LaunchChecks(program, setting.grid, setting.block, memory, params)
    if observer is not None:
        observer.attach(memory)
    chunk: Chunk | None = None
    with np.errstate(all="ignore"):
        for first in range(0, setting.blocks, setting.chunk_blocks):
            size = min(setting.chunk_blocks, setting.blocks - first)
            if chunk is None or chunk.geometry.blocks != size:
                chunk = Chunk(
                    program, Geometry(size, setting.threads), setting.grid, setting.block,
                    setting.shared_bytes, memory, tally, params, checks,
                )  # fmt: skip
            chunk.start(first)
            try:
                engine.run(chunk)
            except KernelFault as found:
                return _fault(found, chunk, program)
    return None


def _fault(found: KernelFault, chunk: Chunk, program: Program) -> Fault:
    where = chunk.block_index(found.lanes, found.position)
    return fault_at(program.sites[found.site].location, found.kind, found.message, *where)
