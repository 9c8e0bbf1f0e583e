"""The state of the thread blocks that execute together: registers, memories, special registers.

The generated code of a basic block is called with a chunk and a selection of its lanes. The memory
instructions end up here, where generic addresses are sorted into state spaces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.faults import index_of
from harness.emulator.engine.judge.arithmetic.operations import NUMPY_TYPES
from harness.emulator.engine.judge.checks.launch_checks import BlockChecks, LaunchChecks
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Active, Geometry
from harness.emulator.engine.judge.memory import atomics
from harness.emulator.engine.judge.memory.async_copies import AsyncCopies
from harness.emulator.engine.judge.memory.block_memory import BlockMemory
from harness.emulator.engine.judge.memory.costs import AccessCounts
from harness.emulator.engine.judge.memory.global_memory import GlobalMemory
from harness.emulator.memory.address_space import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from harness.emulator.memory.grid_workspace import workspace_registers
from harness.emulator.memory.sectors import touch
from harness.emulator.program.access_kinds import UNCOUNTED
from harness.emulator.program.ir import Program

Array = NDArray[Any]
Dim3 = tuple[int, int, int]
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


class Chunk:
    """Consecutive thread blocks of a launch. Reused from chunk to chunk by `start`."""

    def __init__(
        self, program: Program, geometry: Geometry, grid: Dim3, block: Dim3, shared_bytes: int,
        memory: GlobalMemory, counts: AccessCounts, params: bytes, checks: LaunchChecks | None,
    ) -> None:  # fmt: skip
        self.program = program
        self.geometry = geometry
        self.grid, self.block = grid, block
        self.memory = memory
        self.counts = counts
        self.params = params
        self.shared_bytes = shared_bytes
        # What nothing has written yet reads as zero.
        self._zeros = [np.zeros((1, 1), NUMPY_TYPES[r.type]) for r in program.registers]
        self.registers: list[Array] = []
        self.shared = BlockMemory("shared", geometry.blocks, shared_bytes, per_thread=False)
        lanes = geometry.blocks * geometry.threads
        self.local = BlockMemory(
            "local", lanes if program.local_bytes else 0, program.local_bytes, per_thread=True
        )
        self.checks: BlockChecks | None = None
        if checks is not None:
            self.checks = BlockChecks(checks, geometry, shared_bytes)
            self.shared.watch, self.local.watch = self.checks.shared, self.checks.local
        self.uninitialised = self.checks.uninitialised if self.checks is not None else None
        self.copies = AsyncCopies(geometry)
        self.first_block = 0
        self.special: dict[str, Array] = self._fixed_specials()

    def start(self, first_block: int) -> None:
        """Begin with the blocks from `first_block` on."""
        self.first_block = first_block
        self.copies.clear()
        self.registers = list(self._zeros)
        if self.shared_bytes:
            self.shared.clear()
        if self.program.local_bytes:
            self.local.clear()
        if self.checks is not None:
            self.checks.start(first_block)
        numbers = np.arange(first_block, first_block + self.geometry.blocks)[:, None]
        nx, ny, _ = self.grid
        self.special["ctaid.x"] = (numbers % nx).astype(np.uint32)
        self.special["ctaid.y"] = (numbers // nx % ny).astype(np.uint32)
        self.special["ctaid.z"] = (numbers // (nx * ny)).astype(np.uint32)

    def _fixed_specials(self) -> dict[str, Array]:
        threads = np.arange(self.geometry.threads)[None]
        nx, ny, _ = self.block
        lane = (threads % WARP).astype(np.uint32)
        bit = np.uint32(1) << lane
        out = {
            "tid.x": threads % nx, "tid.y": threads // nx % ny, "tid.z": threads // (nx * ny),
            "laneid": lane, "warpid": threads // WARP, "nwarpid": _one(self.geometry.warps),
            "lanemask_eq": bit, "lanemask_lt": bit - np.uint32(1),
            "lanemask_le": bit | (bit - np.uint32(1)), "lanemask_gt": ~(bit | (bit - np.uint32(1))),
            "lanemask_ge": ~(bit - np.uint32(1)), "smid": _one(0), "nsmid": _one(1),
            "gridid": _one(0), "dynamic_smem_size": _one(
                max(self.shared_bytes - self.program.shared_static, 0)
            ),
            "total_smem_size": _one(self.shared_bytes),
        }  # fmt: skip
        for axis, threads_along, blocks_along in zip("xyz", self.block, self.grid, strict=True):
            out[f"ntid.{axis}"] = _one(threads_along)
            out[f"nctaid.{axis}"] = _one(blocks_along)
        out.update({n: _one(v) for n, v in workspace_registers(self.memory.space).items()})
        return {name: value.astype(np.uint32) for name, value in out.items()}

    def read_special(self, name: str) -> Array:
        """A special register, for all lanes. Clocks count thread instructions so far."""
        if name.startswith(("clock", "globaltimer")):
            ticks = self.counts.budget
            if name.endswith("_hi"):
                return _one(ticks >> 32).astype(np.uint32)
            wide = name in ("clock64", "globaltimer")
            return _one(ticks).astype(np.uint64 if wide else np.uint32)
        return self.special[name]

    def read_param(self, offset: int, dtype: np.dtype[Any]) -> Array:
        """A kernel parameter."""
        return np.frombuffer(self.params, dtype, 1, offset).reshape(1, 1)

    def symbol(self, name: str) -> int:
        """Address of a module variable."""
        for allocation in self.memory.allocations:
            if allocation.name == name:
                return allocation.base
        raise KeyError(name)

    def block_index(self, lanes: Active, position: int) -> tuple[Dim3, Dim3]:
        """(block, thread) of a lane, as blockIdx and threadIdx."""
        row, thread = lanes.lane(position)
        return index_of(self.first_block + row, self.grid), index_of(thread, self.block)

    def sync_warp(self, lanes: Active, site: int, mask: Array) -> None:
        """Lanes meet at an instruction of their warp that names its members."""
        if self.checks is not None:
            self.checks.sync_warp(lanes, site, mask)

    def fence(self, lanes: Active, wide: bool) -> None:
        """Lanes execute a fence; `wide` if it reaches other blocks."""
        if self.checks is not None:
            self.checks.fence(lanes, wide)

    # --- memory instructions --------------------------------------------------------------

    def load(
        self, space: str, lanes: Active, site: int, addresses: Array, dtype: np.dtype[Any],
        count: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        if space == "":
            spaces = self._spaces(addresses)
            if len(spaces) > 1:
                return self._mixed_load(spaces, lanes, site, addresses, dtype, count)
            space, addresses = self._in_space(spaces[0], addresses)
        if space == "shared":
            return self.shared.load(self.counts, lanes, site, addresses, dtype, count)
        if space == "local":
            return self.local.load(self.counts, lanes, site, addresses, dtype, count)
        counts = self.counts if space == "global" else None
        return self.memory.load(counts, lanes, site, addresses, dtype, count)

    def store(
        self, space: str, lanes: Active, site: int, addresses: Array, values: tuple[Array, ...]
    ) -> None:
        if space == "":
            spaces = self._spaces(addresses)
            if len(spaces) > 1:
                for each in spaces:
                    part, at = lanes.part(_in_window(addresses, each))
                    _, own = self._in_space(each, lanes.full(addresses)[at][None])
                    split = tuple(lanes.full(value)[at][None] for value in values)
                    self.store(each, part, site, own, split)
                return
            space, addresses = self._in_space(spaces[0], addresses)
        if space == "shared":
            self.shared.store(self.counts, lanes, site, addresses, values)
        elif space == "local":
            self.local.store(self.counts, lanes, site, addresses, values)
        else:
            counts = self.counts if space == "global" else None
            self.memory.store(counts, lanes, site, addresses, values)

    def atomic(
        self, space: str, lanes: Active, site: int, addresses: Array, operation: str,
        operands: tuple[Array, ...], wanted: bool, cost: str,
    ) -> Array:  # fmt: skip
        """An atomic; `wanted` says whether its result is read, `cost` is its `atomic_rule`."""
        if space == "":
            spaces = self._spaces(addresses)
            if len(spaces) > 1:
                out = np.zeros(lanes.count, operands[0].dtype)
                for each in spaces:
                    part, at = lanes.part(_in_window(addresses, each))
                    _, own = self._in_space(each, lanes.full(addresses)[at][None])
                    split = tuple(lanes.full(operand)[at][None] for operand in operands)
                    out[at] = self.atomic(each, part, site, own, operation, split, True, cost)[0]
                return out.reshape(lanes.n_rows, lanes.n_columns)
            space, addresses = self._in_space(spaces[0], addresses)
        width = operands[0].dtype.itemsize
        if space == "global":
            owner = self.memory.locate(lanes, site, addresses, width, width, "atomic")
            if owner is None:
                raise KernelFault(
                    "out of bounds", "one atomic on several buffers at once is not supported",
                    site, lanes, 0,
                )  # fmt: skip
            if cost != UNCOUNTED:
                self.counts.global_atomic(lanes, site, addresses, width, cost)
            offsets = addresses - owner.base
            touch(owner.sectors_read, offsets)
            touch(owner.sectors_written, offsets)
            if self.memory.watch is not None:
                self.memory.watch.update(lanes, site, owner, addresses, width)
            if self.memory.first_writes is not None:
                self.memory.first_writes.read(lanes, site, owner, addresses, width)
                self.memory.first_writes.write(lanes, owner, addresses, width)
            words = owner.view(operands[0].dtype)
            index = offsets // width
        else:
            block_memory = self.shared if space == "shared" else self.local
            block_memory.check(lanes, site, addresses, width, "atomic")
            if block_memory.watch is not None:
                block_memory.watch.update(lanes, site, addresses, width)
            if space == "shared":
                self.counts.shared_atomic(lanes, site, addresses, cost)
            words = block_memory.view(operands[0].dtype).reshape(-1)
            index = block_memory.flat_index(lanes, addresses, width)
        flat = tuple(lanes.full(operand) for operand in operands)
        if not wanted:
            atomics.update(words, lanes.full(index), operation, flat)
            return operands[0]
        found = atomics.fetch(words, lanes.full(index), operation, flat)
        return found.reshape(lanes.n_rows, lanes.n_columns)

    # --- generic addresses ----------------------------------------------------------------

    def _spaces(self, addresses: Array) -> list[str]:
        """State spaces that generic addresses fall in."""
        low, high = int(addresses.min()), int(addresses.max())
        if high < SHARED_WINDOW:
            return ["global"]
        for space, base in WINDOWS.items():
            if low >= base and high < base + WINDOW_BYTES:
                return [space]
        return [s for s in ("global", *WINDOWS) if _in_window(addresses, s).any()]

    @staticmethod
    def _in_space(space: str, addresses: Array) -> tuple[str, Array]:
        return space, addresses - WINDOWS[space] if space in WINDOWS else addresses

    def _mixed_load(
        self, spaces: list[str], lanes: Active, site: int, addresses: Array,
        dtype: np.dtype[Any], count: int,
    ) -> tuple[Array, ...]:  # fmt: skip
        out = tuple(np.zeros(lanes.count, dtype) for _ in range(count))
        for space in spaces:
            part, at = lanes.part(_in_window(addresses, space))
            _, own = self._in_space(space, lanes.full(addresses)[at][None])
            for target, value in zip(
                out, self.load(space, part, site, own, dtype, count), strict=True
            ):
                target[at] = part.full(value)
        return tuple(each.reshape(lanes.n_rows, lanes.n_columns) for each in out)


def _one(value: int) -> Array:
    return np.array([[value]])


def _in_window(addresses: Array, space: str) -> NDArray[np.bool_]:
    if space in WINDOWS:
        base = WINDOWS[space]
        return (addresses >= base) & (addresses < base + WINDOW_BYTES)
    elsewhere: NDArray[np.bool_] = np.ones(addresses.shape, np.bool_)
    for window in WINDOWS:
        elsewhere &= ~_in_window(addresses, window)
    return elsewhere
