"""Execute a kernel on arrays, all threads of a launch at once: slow, without checks, and simple.

In every warp, the lanes at the lowest basic block run next, among those that can continue. The
arithmetic is NumPy's, and the cost of an access follows the reference's `memory_rules.py`: only the
program is shared with the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine.layout import BY_BLOCK, BY_SITE
from harness.emulator.engine.raw_counts import RawCounts
from harness.emulator.memory.address_space import (
    LOCAL_WINDOW,
    SHARED_WINDOW,
    WINDOW_BYTES,
    AddressSpace,
)
from harness.emulator.memory.arguments import PARAMETERS
from harness.emulator.program.analysis.access_kinds import UNCOUNTED, atomic_rule
from harness.emulator.program.analysis.liveness import needed_ops
from harness.emulator.program.ir import (
    Barrier,
    Branch,
    Constant,
    Exit,
    Jump,
    Op,
    Program,
    Register,
    Source,
    Special,
    SymbolAddress,
)
from reference.arrays import atomics, costs, matrix, warp
from reference.arrays.lanes import Lanes
from reference.arrays.operations import NUMPY_TYPES, implementation

Array = NDArray[Any]

_HALVES = np.dtype([("low", np.uint64), ("high", np.uint64)])  # of a 128-bit value


def execute(
    program: Program, blocks: int, threads: int, memory: AddressSpace, shared_bytes: int
) -> RawCounts:
    """Run a launch of one-dimensional blocks to its end; arrays in `memory` are changed."""
    with np.errstate(all="ignore"):
        return _Execution(program, blocks, threads, memory, shared_bytes).to_end()


class _Execution:
    def __init__(
        self, program: Program, blocks: int, threads: int, memory: AddressSpace, shared_bytes: int
    ) -> None:
        self.program, self.memory = program, memory
        self.blocks, self.threads = blocks, threads
        self.count = blocks * threads
        self.registers = [self._row(0, r.type) for r in program.registers]
        self.shared = np.full((blocks, -(-shared_bytes // 16) * 16), 0xFF, np.uint8)
        counts: dict[str, Any] = {name: [0] * len(program.sites) for name in BY_SITE}
        counts |= {name: [0] * len(program.blocks) for name in BY_BLOCK}
        self.counts = RawCounts(**counts | {"colliding": set()})
        self.wanted: frozenset[int] = frozenset()
        self.lanes = Lanes(blocks, threads, np.ones((1, self.count), np.bool_))

    def _row(self, bits: int, type_: str) -> Array:
        dtype = np.dtype(NUMPY_TYPES[type_])
        raw = (bits & ((1 << 8 * dtype.itemsize) - 1)).to_bytes(dtype.itemsize, "little")
        return np.full((1, self.count), np.frombuffer(raw, dtype)[0], dtype)

    # --- control --------------------------------------------------------------------------

    def to_end(self) -> RawCounts:
        ready = {0: np.ones((1, self.count), np.bool_)}
        waiting: dict[int, Array] = {}
        while ready or waiting:
            if not ready:  # all have reached a barrier
                for target, mask in waiting.items():
                    _join(ready, target, mask)
                waiting = {}
            number = min(ready)
            self.lanes = Lanes(self.blocks, self.threads, ready.pop(number))
            self._block(number, ready, waiting)
        return self.counts

    def _block(self, number: int, ready: dict[int, Array], waiting: dict[int, Array]) -> None:
        block, counts, active = self.program.blocks[number], self.counts, self.lanes.active
        counts.block_warps[number] += self.lanes.warps
        counts.block_lanes[number] += self.lanes.count
        for op, wanted in needed_ops(block):
            self.wanted = wanted
            getattr(self, f"_op_{op.name}", self._computed)(op)
        end = block.terminator
        if isinstance(end, Jump):
            _join(ready, end.target, active)
        elif isinstance(end, Barrier):
            assert not end.reduction
            _join(waiting, end.target, active)
        elif isinstance(end, Branch):
            holds = self._read(end.predicate, "pred") == end.taken_if
            on, off = active & holds, active & ~holds
            counts.taken_lanes[number] += int(on.sum())
            if not end.guards:
                ways = [self.lanes.to_warps(each).any(axis=1) for each in (on, off)]
                counts.diverged_warps[number] += int(np.logical_and(*ways).sum())
            _join(ready, end.target, on)
            _join(ready, end.otherwise, off)
        else:
            assert isinstance(end, Exit)

    # --- operands -------------------------------------------------------------------------

    def _read(self, source: Source, type_: str) -> Array:
        if isinstance(source, Register):
            return _as(self.registers[source.slot], type_)
        if isinstance(source, Constant):
            return self._row(source.bits, type_)
        if isinstance(source, SymbolAddress):
            return self._row(self._address_of(source), type_)
        return _as(self._special(source).reshape(1, -1).astype(np.uint32), type_)

    def _address_of(self, symbol: SymbolAddress) -> int:
        if symbol.space == "shared":
            return self.program.shared[symbol.name] + symbol.offset
        name, offset = symbol.name, symbol.offset
        if symbol.space == "param":
            name, offset = PARAMETERS, self.program.param_offsets()[name] + offset
        return next(a.base for a in self.memory.allocations if a.name == name) + offset

    def _special(self, special: Special) -> Array:
        lanes = np.arange(self.count)
        block, thread = np.divmod(lanes, self.threads)
        values = {
            "tid.x": thread, "ctaid.x": block, "laneid": thread % 32, "warpid": thread // 32,
            "ntid.x": 0 * lanes + self.threads, "nctaid.x": 0 * lanes + self.blocks,
        }  # fmt: skip
        return values.get(special.name, 0 * lanes)

    def _operands(self, op: Op) -> list[Array]:
        return [self._read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]

    def _write(self, op: Op, value: Array, number: int = 0) -> None:
        register = op.results[number] if number < len(op.results) else None
        if register is None or register.slot not in self.wanted:
            return
        value = _as(np.broadcast_to(value, (1, self.count)), register.type, op.result_types[number])
        before = self.registers[register.slot]
        self.registers[register.slot] = np.where(self.lanes.active, value, before)

    def _several(self, op: Op, values: tuple[Array, ...]) -> None:
        for number, value in enumerate(values[: len(op.results)]):
            self._write(op, value, number)

    # --- operations -----------------------------------------------------------------------

    def _computed(self, op: Op) -> None:
        found = implementation(op)(*self._operands(op))
        self._several(op, found if isinstance(found, tuple) else (found,))

    def _op_unpack(self, op: Op) -> None:
        (whole,) = self._operands(op)
        parts = whole.view(f"u{whole.itemsize // len(op.results)}").reshape(self.count, -1)
        self._several(
            op, tuple(np.ascontiguousarray(parts[:, i])[None] for i in range(len(op.results)))
        )

    def _op_param(self, op: Op) -> None:
        offset = op.sources[0]
        assert isinstance(offset, Constant)
        at = self.program.param_offsets()[op.variant[0]] + offset.bits
        data = next(a.data for a in self.memory.allocations if a.name == PARAMETERS)
        for i, type_ in enumerate(op.result_types):
            size = np.dtype(NUMPY_TYPES[type_]).itemsize
            bits = int.from_bytes(data[at + i * size : at + (i + 1) * size].tobytes(), "little")
            self._write(op, self._row(bits, type_), i)

    def _op_cvta(self, op: Op) -> None:
        direction, space = op.variant
        base = np.uint64({"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0))
        (address,) = self._operands(op)
        self._write(op, address - base if direction == "to" else address + base)

    def _op_isspacep(self, op: Op) -> None:
        (address,) = self._operands(op)
        base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(op.variant[0], 0)
        size = WINDOW_BYTES if base else SHARED_WINDOW
        self._write(op, (address >= np.uint64(base)) & (address < np.uint64(base + size)))

    def _nothing(self, op: Op) -> None:
        """Do nothing: memory is consistent after every instruction, and copies arrive at once."""

    _op_fence = _op_syncwarp = _op_copy_commit = _op_copy_wait = _nothing

    # --- warps ----------------------------------------------------------------------------

    def _warp(self, op: Op, function: Callable[..., Any], *more: Any) -> None:
        found = function(*more, self.lanes, *self._operands(op))
        self._several(op, found if isinstance(found, tuple) else (found,))

    def _op_shfl(self, op: Op) -> None:
        self._warp(op, warp.shuffle, op.variant[0])

    def _op_vote(self, op: Op) -> None:
        self._warp(op, warp.vote, op.variant[0])

    def _op_match(self, op: Op) -> None:
        self._warp(op, warp.match, op.variant[0])

    def _op_redux(self, op: Op) -> None:
        self._warp(op, warp.reduce, op.variant[0])

    def _op_elect(self, op: Op) -> None:
        self._warp(op, warp.elect)

    def _op_activemask(self, op: Op) -> None:
        self._warp(op, warp.active_mask)

    def _matrix(self, op: Op) -> None:
        function = getattr(matrix, op.name)
        self._several(op, function(self.lanes, op.variant, *self._operands(op)))

    _op_mma = _op_wmma = _op_matrix_rows = _op_transpose_8x8 = _matrix
    _op_fragment_address = _op_column_address = _matrix

    # --- memory ---------------------------------------------------------------------------

    def _addresses(self, op: Op) -> Array:
        """The address of every lane; a 32-bit address wraps around before it is widened."""
        base, offset = self._read(op.sources[0], op.source_types[0]), op.sources[1]
        assert isinstance(offset, Constant)
        plus = np.array(offset.bits & ((1 << 8 * base.itemsize) - 1), base.dtype)
        return (base + plus).astype(np.int64)

    def _places(self, space: str, addresses: Array, width: int) -> tuple[Array, Array, Any]:
        """The bytes of a memory, and for each active lane the position of its access in them and
        its buffer."""
        active = self.lanes.active[0]
        at = addresses[0][active]
        if space == "shared":
            rows = np.flatnonzero(active) // self.threads
            assert ((at >= 0) & (at + width <= self.shared.shape[1])).all()
            return self.shared.reshape(-1), rows * self.shared.shape[1] + at, None
        (buffer,) = (a for a in self.memory.allocations if a.base <= at[0] < a.base + a.size)
        assert ((at >= buffer.base) & (at + width <= buffer.base + buffer.size)).all()
        return buffer.data, at - buffer.base, buffer

    def _count(self, op: Op, space: str, addresses: Array, width: int, *, load: bool) -> None:
        if space == "shared":
            costs.shared_access(self.counts, self.lanes, op.site, addresses, width, load=load)
        elif space == "global":
            costs.global_access(self.counts, self.lanes, op.site, addresses, width)

    def _op_ld(self, op: Op) -> None:
        dtype, count = np.dtype(NUMPY_TYPES[op.result_types[0]]), len(op.results)
        addresses, width = self._addresses(op), dtype.itemsize * count
        memory, first, _ = self._places(op.variant[0], addresses, width)
        self._count(op, op.variant[0], addresses, width, load=True)
        raw = memory[first[:, None] + np.arange(width)].view(dtype)
        for i in range(count):
            self._write(op, self._spread(raw[:, i]), i)

    def _spread(self, values: Array) -> Array:
        """Put the active lanes' values at their positions among all lanes."""
        out = np.zeros((1, self.count), values.dtype)
        out[self.lanes.active] = values
        return out

    def _op_st(self, op: Op) -> None:
        values = [self._read(s, op.source_types[2])[self.lanes.active] for s in op.sources[2:]]
        addresses, width = self._addresses(op), values[0].itemsize * len(values)
        memory, first, _ = self._places(op.variant[0], addresses, width)
        self._count(op, op.variant[0], addresses, width, load=False)
        raw = np.stack(values, axis=1).view(np.uint8)
        memory[first[:, None] + np.arange(width)] = raw

    def _op_atom(self, op: Op) -> None:
        operands = [self._read(s, op.source_types[2])[self.lanes.active] for s in op.sources[2:]]
        if len(op.result_types) == 2:
            operands = [np.stack(halves, axis=1).view(_HALVES)[:, 0]
                        for halves in zip(operands[::2], operands[1::2], strict=True)]  # fmt: skip
        addresses, size = self._addresses(op), operands[0].itemsize
        memory, first, _ = self._places(op.variant[0], addresses, size)
        rule = atomic_rule(self.program, op, wanted=bool(self.wanted))
        if op.variant[0] == "shared":
            costs.shared_atomic(self.counts, self.lanes, op.site, addresses, rule)
        elif rule != UNCOUNTED:
            costs.global_atomic(self.counts, self.lanes, op.site, addresses, size, rule)
        words = memory[: len(memory) // size * size].view(operands[0].dtype)
        found = atomics.fetch(words, first // size, op.variant[1], tuple(operands))
        if len(op.result_types) == 2:
            self._several(op, tuple(self._spread(found[half]) for half in ("low", "high")))
        else:
            self._write(op, self._spread(found))

    def _op_copy_async(self, op: Op) -> None:
        target, source, filled = self._operands(op)
        width = int(op.variant[0])
        assert (filled[self.lanes.active] == width).all()
        source, target = source.view(np.int64), target.astype(np.int64)
        memory, first, _ = self._places("global", source, width)
        raw = memory[first[:, None] + np.arange(width)]
        self._count(op, "global", source, width, load=True)
        memory, first, _ = self._places("shared", target, width)
        self._count(op, "shared", target, width, load=False)
        memory[first[:, None] + np.arange(width)] = raw


def _join(masks: dict[int, Array], target: int, more: Array) -> None:
    if more.any():
        masks[target] = masks[target] | more if target in masks else more


def _as(value: Array, type_: str, result_type: str | None = None) -> Array:
    """Convert a value to another type: its low bits, or the extension that the result's type
    requires."""
    to = np.dtype(NUMPY_TYPES[type_])
    value = np.ascontiguousarray(value)
    if value.dtype == to:
        return value
    assert "b" not in (value.dtype.kind, to.kind), (value.dtype, type_)
    if value.itemsize == to.itemsize:
        return value.view(to)
    if value.itemsize > to.itemsize:
        return value.view(f"u{value.itemsize}").astype(f"u{to.itemsize}").view(to)
    sign = "i" if result_type is not None and value.dtype.kind == "i" else "u"
    return value.view(f"{sign}{value.itemsize}").astype(f"{sign}{to.itemsize}").view(to)
