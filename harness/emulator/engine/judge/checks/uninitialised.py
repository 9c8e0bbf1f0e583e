"""What becomes of a value that was read where nothing had written: a fault once it is used.

To read such a word is no fault by itself. A struct is copied with its padding, a merge sort reads
one element past the end and then does not look at it, the compiler moves loads to where the source
has none. To use it is one: as an address, in a branch, in an atomic, a vote or what is printed, or
by storing it to global memory, but for padding, which a vector access copies along behind what is
written. In between it goes from register to register, lane to lane and through shared and local
memory; what is computed from it is as bad, unless a defined operand decides alone (`false and x`,
the other side of a selection).

As long as there is no such value, this costs a test for each basic block and store. From then on
every block is gone through again, after it has executed and after each of its stores, for what it
did to them. A word of which a part is written counts as written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.judge import warp
from harness.emulator.engine.judge.kernel_fault import KernelFault
from harness.emulator.engine.judge.lanes import Active, Geometry
from harness.emulator.program.ir import (
    Barrier,
    Block,
    Constant,
    Op,
    Program,
    Register,
    terminator_reads,
)
from harness.emulator.program.liveness import EFFECTS, needed_ops, unwritten_registers
from harness.emulator.ptx.syntax import TYPE_SIZES

Array = NDArray[Any]
Ids = Array  # for each lane 0, or one more than the number of a `_Read`


class Memory(Protocol):
    """A memory that knows which of its words are written."""

    def forget(self, lanes: Array, addresses: Array, size: int, ids: Ids) -> None:
        """Words that were just stored hold what nothing has written; `ids` say what."""


@dataclass(frozen=True)
class _Read:
    """Where a value came from: which lanes read what; `text` has a place for the latter."""

    kind: str
    text: str
    site: int | None  # of the read; None for a register, which is told where it is used
    lanes: Array
    at: Array
    padding: bool = False  # it may be: what comes before it in the same access is written


class Uninitialised:
    """Registers of a chunk that hold what nothing has written; true if there are any."""

    def __init__(
        self, program: Program, geometry: Geometry, line: Callable[[int], str],
        gone: Callable[[], Array],
    ) -> None:  # fmt: skip
        self._program, self._geometry, self._line = program, geometry, line
        self._gone = gone  # lanes of each warp that have exited, as bits
        self._blocks: dict[int, _Steps] = {}
        self.start()

    def start(self) -> None:
        """New blocks."""
        self._reads: list[_Read] = []
        self._registers: dict[int, Ids] = {}
        self._begin_with(self._program.once(unwritten_registers))
        self._found: dict[tuple[int, int], list[Ids]] = {}
        self._stored: dict[int, list[tuple[Memory, Array, Array]]] = {}
        self._pass: _Pass | None = None

    def _begin_with(self, registers: Sequence[Register]) -> None:
        """Registers that may be read before anything wrote them."""
        lanes = np.arange(self._geometry.blocks * self._geometry.threads)
        for register in registers:
            text = f"use of register `{register.name}`, which nothing has written"
            self._reads.append(_Read("uninitialised", text, None, lanes, lanes))
            self._registers[register.slot] = np.full(len(lanes), len(self._reads), np.int32)

    def __bool__(self) -> bool:
        return bool(self._registers or self._found)

    # --- what memory tells ----------------------------------------------------------------

    def read(
        self, memory: str, size: int, site: int, word: int, lanes: Active, addresses: Array,
        unknown: Array, ids: Ids | None, begins: Array | None = None,
    ) -> None:  # fmt: skip
        """A load has just read a `word` that is not written, in the lanes where it is `unknown`.

        `ids` are those of values that were stored there since, 0 where there is none. `begins`:
        lanes where the first word of the access is written, so that this one may be padding.
        """
        at = lanes.full(addresses)[unknown] + word * size
        text = f"read of {size} bytes at offset {{}} of {memory}, which nothing has written"
        numbers = lanes.lanes()[unknown]
        some = np.zeros(len(numbers), np.bool_) if begins is None else begins[unknown]
        for padding, chosen in ((True, some), (False, ~some)):
            if chosen.any():
                own = None if ids is None else ids[chosen]
                self._note("uninitialised", text, site, word, numbers[chosen], at[chosen], own,
                           padding=padding)  # fmt: skip

    def shuffled(
        self, lanes: Active, site: int, mode: str, b: Array, c: Array, mask: Array
    ) -> None:
        """Lanes are about to shuffle: some may read from lanes that do not take part."""
        if lanes.full_warps and mask.size == 1 and int(mask[0, 0]) == 0xFFFFFFFF:
            return
        rows = lanes.n_rows
        shape = rows, lanes.n_columns
        b, c, mask = (lanes.to_warps(np.broadcast_to(v, shape)) for v in (b, c, mask))
        source, in_range = warp.source_lanes(mode, b, c)
        bit = np.uint32(1) << source.astype(np.uint32)
        # A lane that is named and neither here nor gone is on its way, or missed (`warp_masks`).
        taking_part = mask & ~self._gone()[warp.warps_of(lanes).index][:, None] & bit
        unknown = lanes.full(lanes.from_warps(in_range & (taking_part == 0), rows))
        if unknown.any():
            at = lanes.full(lanes.from_warps(source, rows))[unknown]
            text = "shuffle from lane {}, which does not take part"
            self._note("warp mask", text, site, 0, lanes.lanes()[unknown], at)

    def _note(
        self, kind: str, text: str, site: int, word: int, numbers: Array, at: Array,
        ids: Ids | None = None, *, padding: bool = False,
    ) -> None:  # fmt: skip
        read = _Read(kind, text, site, numbers, at, padding)
        self._reads.append(read)
        dense = np.zeros(self._geometry.blocks * self._geometry.threads, np.int32)
        own = np.int32(len(self._reads))
        if padding:  # what is computed from it is not: see `computed`
            self._reads.append(dataclasses.replace(read, padding=False))
        dense[numbers] = own if ids is None else np.where(ids != 0, ids, own)
        self._found.setdefault((site, word), []).append(dense)

    def stored(self, memory: Memory, site: int, lanes: Active, addresses: Array) -> None:
        """A store has just written shared or local memory."""
        entry = memory, lanes.lanes(), lanes.full(addresses)
        self._stored.setdefault(site, []).append(entry)

    # --- what a basic block did -----------------------------------------------------------

    def follow(
        self, number: int, lanes: Active, values: Mapping[str, Any], upto: int | None = None
    ) -> None:
        """Go through a basic block that has executed, or has so far up to an operation.

        `values` are its registers (`r0`, …). Raises KernelFault where a value is used that nothing
        has written.
        """
        steps = self._blocks.get(number)
        if steps is None:
            steps = self._blocks[number] = _Steps.of(self._program.blocks[number])
        if self._pass is None and (self._found or self._registers.keys() & steps.concerns):
            where = lanes.lanes()
            held = {s: ids[where] for s, ids in self._registers.items() if s in steps.entering}
            held = {slot: ids for slot, ids in held.items() if ids.any()}
            self._pass = _Pass(self, steps, lanes, where, held)
        if self._pass is not None:
            self._pass.go(values, len(steps.ops) if upto is None else upto)
        if upto is None:
            if self._pass is not None:
                self._pass.end()
            self._pass = None
            self._found.clear()
            self._stored.clear()

    def keep(self, where: Array, slots: frozenset[int], held: Mapping[int, Ids]) -> None:
        """The registers that a block leaves behind."""
        for slot in slots:
            ids = held.get(slot)
            if ids is None and slot not in self._registers:
                continue
            if slot not in self._registers:
                size = self._geometry.blocks * self._geometry.threads
                self._registers[slot] = np.zeros(size, np.int32)
            self._registers[slot][where] = 0 if ids is None else ids
            if not self._registers[slot].any():
                del self._registers[slot]

    def found(self, site: int, word: int, where: Array) -> Ids | None:
        """What a load has just read."""
        several = self._found.get((site, word))
        return None if several is None else np.maximum.reduce(several)[where]

    def stores(self, site: int) -> list[tuple[Memory, Array, Array]]:
        """What a store has just written, of shared and local memory."""
        return self._stored.pop(site, [])

    @staticmethod
    def put(
        stored: list[tuple[Memory, Array, Array]], where: Array, word: int, size: int, ids: Ids
    ) -> Ids:
        """Such values have been stored: those that went to global memory."""
        left = ids.copy()
        for memory, lanes, addresses in stored:
            here, at = np.nonzero(ids)[0], np.searchsorted(lanes, where)
            at = np.minimum(at, len(lanes) - 1)
            here = here[lanes[at[here]] == where[here]]
            memory.forget(where[here], addresses[at[here]] + word * size, size, ids[here])
            left[here] = 0
        return left

    def padding(self, ids: Ids) -> Array:
        """Where values may be padding that was copied along."""
        found: Array = np.array([False, *(read.padding for read in self._reads)])[ids]
        return found

    def computed(self, ids: Ids) -> Ids:
        """What comes of such values is no padding any more."""
        return np.where(self.padding(ids), ids + 1, ids)

    def accuse(self, ids: Ids, where: Array, user: int | None) -> None:
        """Raise KernelFault if any lane holds such a value, for the first that does."""
        if not ids.any():
            return
        position = int(np.argmax(ids != 0))
        read = self._reads[int(ids[position]) - 1]
        own = np.flatnonzero(read.lanes == where[position])
        first = int(own[0]) if len(own) else 0
        mask = np.zeros((self._geometry.blocks, self._geometry.threads), np.bool_)
        mask.reshape(-1)[read.lanes[first]] = True
        message = read.text.format(int(read.at[first]))
        site = read.site
        if site is None:
            site = user or 0
        elif user is not None:
            message += f"; it is used in line {self._line(user)}"
        raise KernelFault(read.kind, message, site, self._geometry.select(mask), 0)


@dataclass(frozen=True)
class _Steps:
    """The operations of a basic block that were computed, and the registers that matter."""

    block: Block
    ops: tuple[Op, ...]
    entering: frozenset[int]
    concerns: frozenset[int]
    leaving: frozenset[int]
    last_written: Mapping[int, int]

    @classmethod
    def of(cls, block: Block) -> _Steps:
        ops = tuple(op for op, _ in needed_ops(block))
        last = {r.slot: i for i, op in enumerate(ops) for r in op.registers_written()}
        leaving = block.live_out & (last.keys() | _results_of_barrier(block))
        return cls(block, ops, block.live_in, block.live_in | leaving, leaving, last)


def _results_of_barrier(block: Block) -> set[int]:
    """What a barrier writes when it lets the lanes go."""
    result = block.terminator.result if isinstance(block.terminator, Barrier) else None
    return set() if result is None else {result.slot}


class _Pass:
    """One going-through of a block; `held` are the registers that hold such values."""

    def __init__(
        self, uninitialised: Uninitialised, steps: _Steps, lanes: Active, where: Array,
        held: dict[int, Ids],
    ) -> None:  # fmt: skip
        self.uninitialised, self.steps, self.lanes = uninitialised, steps, lanes
        self.where, self.held = where, held
        self.values: Mapping[str, Any] = {}
        self.done = 0

    def go(self, values: Mapping[str, Any], upto: int) -> None:
        """As far as an operation, which is excluded."""
        self.values = values
        first, self.done = self.done, upto
        for at in range(first, upto):
            op = self.steps.ops[at]
            ids = [self.held.get(getattr(source, "slot", -1)) for source in op.sources]
            results = self._results(at, op, ids)
            for register, made in zip(op.results, results, strict=False):
                if register is None:
                    continue
                if made is not None and made.any():
                    self.held[register.slot] = made
                else:
                    self.held.pop(register.slot, None)

    def end(self) -> None:
        """The way out of the block."""
        block = self.steps.block
        for register in terminator_reads(block.terminator):
            self._use([self.held.get(register.slot)], block.terminator.site)
        for slot in _results_of_barrier(block):
            self.held.pop(slot, None)
        self.uninitialised.keep(self.where, self.steps.leaving, self.held)

    def _use(self, several: Sequence[Ids | None], site: int | None) -> None:
        for ids in several:
            if ids is not None:
                self.uninitialised.accuse(ids, self.where, site)

    def _results(self, at: int, op: Op, ids: list[Ids | None]) -> Sequence[Ids | None]:
        """What each result holds. Raises KernelFault if the operation uses what it must not."""
        if op.name == "ld":
            self._use(ids, op.site)
            return [
                self.uninitialised.found(op.site, n, self.where) for n in range(len(op.results))
            ]
        if op.name == "shfl":
            self._use(ids[1:], op.site)
            return [self._shuffled(at, op, ids[0]), None][: len(op.results)]
        if op.name == "atom":
            self._use([self.uninitialised.found(op.site, 0, self.where)], op.site)
        if op.name == "st":
            self._use(ids[:1], op.site)
            stored = self.uninitialised.stores(op.site)
            for word, each in enumerate(ids[2:]):
                if each is not None:
                    size = TYPE_SIZES[op.source_types[2 + word]]
                    left = self.uninitialised.put(stored, self.where, word, size, each)
                    if word and len(ids) > 3:
                        before = np.zeros(len(left), np.int32) if ids[2] is None else ids[2]
                        left[self.uninitialised.padding(left) & (before == 0)] = 0
                    self._use([left], op.site)
        elif op.name in EFFECTS:
            self._use(ids, op.site)
        return [self._computed(at, op, ids)] * len(op.results)

    def _computed(self, at: int, op: Op, ids: list[Ids | None]) -> Ids | None:
        """What comes of several operands, as bad as any unless one of them decides."""
        bad = [each for each in ids if each is not None]
        if not bad:
            return None
        mixed = bad[0]
        for each in bad[1:]:
            mixed = np.where(mixed != 0, mixed, each)
        if op.name in ("and", "or"):
            mixed = self.uninitialised.computed(mixed)
            return np.where(self._decided(at, op, op.name, ids), 0, mixed)
        if op.name in ("setp", "set") and len(ids) == 3 and ids[2] is None:
            name = next((m for m in op.variant if m in ("and", "or")), "")
            mixed = self.uninitialised.computed(mixed)
            return np.where(self._decided(at, op, name, ids, 2), 0, mixed)
        if op.name == "selp" and ids[2] is None:
            chosen = self._value(at, op, 2)
            if chosen is not None:
                on, off = (np.int32(0) if each is None else each for each in ids[:2])
                return np.where(chosen, on, off)
        return mixed if op.name == "mov" else self.uninitialised.computed(mixed)

    def _shuffled(self, at: int, op: Op, ids: Ids | None) -> Ids | None:
        b, c = (self._value(at, op, n, flat=False) for n in (1, 2))
        if ids is not None and b is not None and c is not None:
            shape = self.lanes.n_rows, self.lanes.n_columns
            moved, _ = warp.shuffle(op.variant[0], self.lanes, ids.reshape(shape), b, c, ids)
            ids = self.lanes.full(moved)
        absent = self.uninitialised.found(op.site, 0, self.where)
        if ids is None or absent is None:
            return ids if absent is None else absent
        return np.where(absent != 0, absent, ids)

    def _decided(
        self, at: int, op: Op, name: str, ids: Sequence[Ids | None], first: int = 0
    ) -> Array | bool:
        """Where a defined operand decides alone: a zero in `and`, all ones in `or`."""
        decided: Array | bool = False
        for n in range(first, len(ids)):
            value = self._value(at, op, n)
            if value is None or not name:
                continue
            if value.dtype != np.bool_:
                value = value.view(f"u{value.itemsize}")
            alone = value == (0 if name == "and" else np.invert(np.zeros((), value.dtype)))
            own = ids[n]
            decided = decided | (alone if own is None else alone & (own == 0))
        return decided

    def _value(self, at: int, op: Op, n: int, *, flat: bool = True) -> Array | None:
        """What an operand held; None if it cannot be told any more."""
        source = op.sources[n]
        value: Array | None = None
        if isinstance(source, Constant):
            type_ = op.source_types[n]
            size = 4 if type_ == "pred" else TYPE_SIZES[type_]
            bits = np.array([[source.bits & ((1 << 8 * size) - 1)]], f"u{size}")
            value = bits != 0 if type_ == "pred" else bits
        elif isinstance(source, Register) and self.steps.last_written.get(source.slot, -1) < at:
            value = self.values.get(f"r{source.slot}")
        return self.lanes.full(value) if flat and value is not None else value
