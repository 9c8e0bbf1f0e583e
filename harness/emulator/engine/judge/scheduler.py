"""Runs the blocks of a program over a chunk: who executes what next, and who waits.

All runnable lanes at the lowest-numbered basic block go next. Since blocks are numbered so that a
block comes after everything that leads to it, diverged lanes meet again. What one thread block does
never depends on which others share its chunk (except through memory), so counts do not depend on
the chunk's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.faults import over_budget
from harness.emulator.engine.judge.checks.divergent_barriers import check_barrier
from harness.emulator.engine.judge.chunk import Chunk
from harness.emulator.engine.judge.forward_progress import ForwardProgress
from harness.emulator.engine.judge.generate import BlockFunction
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import WARP, Active, Mask
from harness.emulator.program.ir import Barrier, Branch, Exit, Jump, Program, Switch
from harness.emulator.program.waiting_loops import waiting_loops

Array = NDArray[Any]

# A step costs about as much for one lane as for this many, so the budget charges at least that.
LEAST_CHARGE = 256


class Engine:
    """Executes chunks of one launch."""

    def __init__(self, program: Program, functions: list[BlockFunction], budget: int) -> None:
        self.program = program
        self.functions = functions
        self.budget = budget
        self.waiting_loops = program.once(waiting_loops)
        self.sizes = [
            len(block.sites) + isinstance(block.terminator, Branch) for block in program.blocks
        ]

    def run(self, chunk: Chunk) -> None:
        """Run a chunk to its end. Raises KernelFault."""
        _Run(self, chunk).to_end()


class _Run:
    def __init__(self, engine: Engine, chunk: Chunk) -> None:
        self.engine = engine
        self.chunk = chunk
        self.ready: dict[int, Mask] = {0: chunk.geometry.whole.mask}
        # Waiting lanes: (basic block of the barrier, barrier number, thread count) to mask.
        self.waiting: dict[tuple[int, int, int], Mask] = {}
        # Lanes that have arrived at a barrier and not waited, by (barrier number, thread count).
        self.arrived: dict[tuple[int, int], Mask] = {}
        self.exited: Mask | None = None

    def to_end(self) -> None:
        engine, chunk, ready = self.engine, self.chunk, self.ready
        functions, sizes = engine.functions, engine.sizes
        counts, select = chunk.counts, chunk.geometry.select
        whole = chunk.geometry.whole
        progress = ForwardProgress(engine.waiting_loops, chunk)
        warp_masks = None if chunk.checks is None else chunk.checks.warp_masks
        while True:
            if not ready:
                if self.waiting and self._release(stuck=not progress.anybody):
                    continue
                if not progress.wake(ready):
                    return
                continue
            number = min(ready)
            mask = ready.pop(number)
            lanes = whole if mask.size == 1 else select(mask)
            if number in progress.blocks:
                going = progress.take(number, lanes, self.exited)
                if going is None:
                    continue
                lanes = going
            counts.budget += max(lanes.count, LEAST_CHARGE) * sizes[number]
            if counts.budget > engine.budget:
                self._over_budget(number, lanes)
            counts.block_warps[number] += lanes.warps
            counts.block_lanes[number] += lanes.count
            if warp_masks is not None:
                warp_masks.exited = self.exited
            self._leave(number, lanes, functions[number](chunk, lanes))

    def _leave(self, number: int, lanes: Active, result: Any) -> None:
        """Send lanes on from a basic block, given what its function returned."""
        terminator = self.engine.program.blocks[number].terminator
        if isinstance(terminator, Jump):
            self._go(terminator.target, lanes.mask)
        elif isinstance(terminator, Branch):
            on, off = lanes.masks(result)
            if on is not None and off is not None and not terminator.guards:
                self.chunk.counts.diverged_warps[number] += lanes.diverged_warps(on, off)
            if not terminator.taken_if:
                on, off = off, on
            if on is not None:
                taken = lanes.count if off is None else self._size(on)
                self.chunk.counts.taken_lanes[number] += taken
                self._go(terminator.target, on)
            if off is not None:
                self._go(terminator.otherwise, off)
        elif isinstance(terminator, Barrier):
            self._arrive(number, terminator, lanes, result)
        elif isinstance(terminator, Exit):
            self.exited = lanes.mask if self.exited is None else self.exited | lanes.mask
        elif isinstance(terminator, Switch):
            self._switch(number, terminator, lanes, result)
        else:
            raise KernelFault("trap", terminator.reason, terminator.site, lanes, 0)

    def _go(self, target: int, mask: Mask) -> None:
        there = self.ready.get(target)
        if there is None:
            self.ready[target] = mask
        else:
            joined = there | mask
            if joined.size > 1 and joined.all():
                joined = self.chunk.geometry.whole.mask
            self.ready[target] = joined

    def _size(self, mask: Mask) -> int:
        """How many lanes a mask of any shape stands for."""
        geometry = self.chunk.geometry
        lanes = int(np.count_nonzero(mask))
        lanes *= 1 if mask.shape[0] > 1 else geometry.blocks
        return lanes * (1 if mask.shape[1] > 1 else geometry.threads)

    def _switch(self, number: int, terminator: Switch, lanes: Active, index: Array) -> None:
        ways: dict[int, Mask] = {}
        for value in np.unique(index).tolist():
            if value >= len(terminator.targets):
                position = int(np.argmax(lanes.full(index) == value))
                message = f"indirect branch to entry {value} of {len(terminator.targets)}"
                if terminator.pointer is not None:
                    pointers = lanes.get(self.chunk.registers[terminator.pointer.slot])
                    message = _no_function(int(lanes.full(pointers)[position]))
                raise KernelFault("out of bounds", message, terminator.site, lanes, position)
            on, _ = lanes.masks(index == value)
            assert on is not None
            target = terminator.targets[value]
            ways[target] = on if target not in ways else ways[target] | on
            self._go(target, on)
        if len(ways) > 1:
            split = self.chunk.geometry.split_warps(*ways.values())
            self.chunk.counts.diverged_warps[number] += split

    def _over_budget(self, number: int, lanes: Active) -> None:
        site = self.engine.program.blocks[number].first_site
        raise KernelFault("budget", over_budget(self.engine.budget), site, lanes, 0)

    # --- barriers -------------------------------------------------------------------------

    def _arrive(self, number: int, barrier: Barrier, lanes: Active, operands: Any) -> None:
        ids, counts = operands
        if (
            lanes.whole
            and not barrier.arrives
            and self.exited is None
            and not self.waiting
            and not barrier.reduction
            and counts is None
            and ids.size == 1
            and not self.ready
        ):
            self._go(barrier.target, lanes.mask)  # everybody is here
            if self.chunk.checks is not None:
                self.chunk.checks.everybody()
            return
        no_count = np.zeros((1, 1), np.uint32)
        pairs = ids.astype(np.int64) << 32 | (no_count if counts is None else counts)
        for pair in np.unique(pairs).tolist():
            on, _ = lanes.masks(pairs == pair)
            assert on is not None
            key = (number, pair >> 32, pair & 0xFFFFFFFF)
            if barrier.arrives:
                before = self.arrived.get(key[1:])
                self.arrived[key[1:]] = on if before is None else before | on
                self._go(barrier.target, on)
                continue
            waiting = self.waiting.get(key)
            self.waiting[key] = on if waiting is None else waiting | on

    def _release(self, *, stuck: bool) -> bool:
        """Let those blocks go on whose barriers are complete; if `stuck`, one must be."""
        geometry = self.chunk.geometry
        shape = (geometry.blocks, geometry.threads)
        gone = (
            np.zeros(shape, np.bool_)
            if self.exited is None
            else np.broadcast_to(self.exited, shape)
        )
        released = False
        for barrier_id in sorted({key[1] for key in self.waiting}):
            keys = [key for key in self.waiting if key[1] == barrier_id]
            arrived = np.zeros(shape, np.bool_)
            expected = np.zeros((geometry.blocks, 1), np.int64)
            for key in keys:
                mask = np.broadcast_to(self.waiting[key], shape)
                arrived |= mask
                expected = np.where(mask.any(axis=1, keepdims=True), key[2], expected)
            for (number, _), mask in self.arrived.items():
                if number == barrier_id:
                    arrived |= mask
            everybody = (arrived | gone).all(axis=1, keepdims=True)
            counted = _warps_arrived(arrived, gone) * WARP >= expected
            complete = np.where(expected == 0, everybody, counted)
            complete &= arrived.any(axis=1, keepdims=True)
            if not complete.any():
                continue
            released = True
            if self.chunk.checks is not None:
                waiting = {key: self.waiting[key] for key in keys}
                check_barrier(self.engine.program, geometry, waiting, complete, gone)
                self.chunk.checks.barrier(complete, arrived, gone)
            for key in keys:
                self._let_go(key, complete, arrived)
            for other in [k for k in self.arrived if k[0] == barrier_id]:
                self.arrived[other] = self.arrived[other] & ~complete
        if not released and stuck:
            self._deadlock()
        return released

    def _let_go(self, key: tuple[int, int, int], complete: Mask, arrived: Mask) -> None:
        mask = self.waiting[key]
        free = mask if complete.all() else mask & complete
        if not free.any():
            return
        barrier = self.engine.program.blocks[key[0]].terminator
        assert isinstance(barrier, Barrier)
        if barrier.reduction:
            self._reduce(barrier, free, arrived)
        if complete.all():
            del self.waiting[key]
        else:
            rest = mask & ~complete
            if rest.any():
                self.waiting[key] = rest
            else:
                del self.waiting[key]
        self._go(barrier.target, self.chunk.geometry.whole.mask if free.all() else free)

    def _reduce(self, barrier: Barrier, free: Mask, arrived: Mask) -> None:
        registers = self.chunk.registers
        if barrier.result is None or barrier.predicate is None:
            return
        holds = registers[barrier.predicate.slot]
        result: Array
        if barrier.reduction == "popc":
            result = (arrived & holds).sum(axis=1, keepdims=True).astype(np.uint32)
        elif barrier.reduction == "and":
            result = np.all(~arrived | holds, axis=1, keepdims=True)
        else:
            result = np.any(arrived & holds, axis=1, keepdims=True)
        lanes = self.chunk.geometry.select(free)
        slot = barrier.result.slot
        registers[slot] = lanes.put(registers[slot], lanes.get(result))

    def _deadlock(self) -> None:
        """No barrier can complete: name the lines where the first such block's threads wait."""
        program, geometry = self.engine.program, self.chunk.geometry
        shape = (geometry.blocks, geometry.threads)
        masks = {k: np.broadcast_to(m, shape) for k, m in self.waiting.items()}
        row = min(int(np.argmax(m.any(axis=1))) for m in masks.values())
        places = []
        for key, mask in sorted(masks.items()):
            threads = np.count_nonzero(mask[row])
            if threads:
                site = program.sites[getattr(program.blocks[key[0]].terminator, "site", 0)]
                need = f" for {key[2]} threads" if key[2] else ""
                line = site.location.line if site.location else f"? (PTX line {site.ptx_line})"
                places.append((key, f"{threads} at barrier {key[1]}{need} in line {line}"))
        key = places[0][0]
        one = np.zeros(shape, np.bool_)
        one[row, int(np.argmax(masks[key][row]))] = True
        site_number = getattr(program.blocks[key[0]].terminator, "site", 0)
        message = "threads wait at a barrier that can never complete: " + ", ".join(
            text for _, text in places
        )
        raise KernelFault("deadlock", message, site_number, geometry.select(one), 0)


def _no_function(pointer: int) -> str:
    """What is said of a call through a pointer that leads to no function."""
    if pointer == 0:
        return "a call through a null function pointer"
    return f"a call through {pointer:#x}, which is no function of this module"


def _warps_arrived(arrived: Mask, gone: Mask) -> Array:
    """Warps of each block that have arrived: all their lanes that have not exited, and some."""
    blocks, threads = arrived.shape
    padded = -(-threads // WARP) * WARP
    here = np.zeros((blocks, padded), np.bool_)
    here[:, :threads] = arrived
    left = np.ones((blocks, padded), np.bool_)
    left[:, :threads] = gone
    by_warp, left_by_warp = here.reshape(blocks, -1, WARP), left.reshape(blocks, -1, WARP)
    whole = (by_warp | left_by_warp).all(axis=2) & by_warp.any(axis=2)
    warps: Array = whole.sum(axis=1, keepdims=True)
    return warps
