"""Lays a `Program` out for the warp machine: registers as rows, operations as numbers.

An operation of the program becomes one of the machine's, or a few: a comparison that is combined
with a predicate, for example, is a comparison and a combination. What the machine has no
operation for is refused as `UnknownInstruction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import layout
from harness.emulator.engine.library import Machine
from harness.emulator.engine.lowering_arithmetic import ComputingEncoder
from harness.emulator.engine.register_rows import NOWHERE, Unsupported, lane_bytes
from harness.emulator.errors import UnknownInstruction
from harness.emulator.program.access_kinds import (
    ATOMIC,
    BLOCK_ATOMIC,
    COMBINED,
    COUNTS_UP,
    PLAIN,
    UNCOUNTED,
    VECTOR,
    access_kinds,
    atomic_bytes,
    atomic_rule,
)
from harness.emulator.program.decode.matrix import per_register
from harness.emulator.program.decode.operands import RESERVED
from harness.emulator.program.ir import (
    Barrier,
    Block,
    Branch,
    Constant,
    Exit,
    Jump,
    Op,
    Program,
    Switch,
    terminator_reads,
)
from harness.emulator.program.liveness import needed_ops
from harness.emulator.program.waiting_loops import waiting_loops
from harness.emulator.ptx.syntax import TYPE_SIZES

_COSTS = {
    COUNTS_UP: layout.COUNTS_UP, "cas": layout.COMPARES, COMBINED: layout.COMBINED,
    UNCOUNTED: layout.UNCOUNTED,
}  # fmt: skip
_CLAMPS, _A_BY_COLUMNS, _B_BY_COLUMNS = 1, 2, 4  # of a product of matrices


@dataclass
class Encoded:
    """A program as the machine takes it.

    `constants` holds a lane's worth of each row that never changes; those that depend on the
    launch are listed in `params` (number, offset into the parameters, bytes) and `symbols`
    (number, name, offset, by how many bits it is shifted), and are zero here. `rows` are those of
    the program's registers, `meetings` those of the masks by which lanes of a warp meet, by
    basic block, in programs with loops that wait. `why_only_judged`: why only the judge can run it;
    empty if the fast run can, too.
    """

    ops: NDArray[Any]
    blocks: NDArray[Any]
    switch_targets: NDArray[np.int32]
    constants: NDArray[np.uint64]
    constant_offsets: NDArray[np.int32]
    special_offsets: NDArray[np.int32]
    register_bytes: int
    zeroed_bytes: int
    params: list[tuple[int, int, int]] = field(default_factory=list)
    symbols: list[tuple[int, str, int, int]] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    meetings: dict[int, int] = field(default_factory=dict)
    why_only_judged: str = ""


def encode(program: Program, machine: Machine) -> Encoded:
    """Raises UnknownInstruction for what the machine cannot do."""
    return _Encoder(program, machine).encoded()


class _Encoder(ComputingEncoder):
    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(program, machine)
        self.kinds = program.once(access_kinds)
        if program.once(waiting_loops).heads:
            self.only_judged("a loop that waits for another thread")
        if RESERVED.name in program.shared:
            self.only_judged("shared memory that the system clears")
        if BLOCK_ATOMIC in self.kinds:
            self.only_judged("atomics of block scope")

    def encoded(self) -> Encoded:
        blocks: list[dict[str, int]] = []
        targets: list[int] = []
        for block in self.program.blocks:
            first = len(self.ops)
            for op, wanted in needed_ops(block):
                self.wanted = wanted
                try:
                    self._op(op)
                except Unsupported:
                    site = self.program.sites[op.site]
                    where = str(site.location or self.program.kernel)
                    raise UnknownInstruction(site.opcode, where, site.ptx_line) from None
            ending = self._ending(block, targets)
            charge = len(block.sites) + isinstance(block.terminator, Branch)
            blocks.append({
                "first": first, "last": len(self.ops), "charge": charge,
                "site": block.terminator.site or 0, "first_site": block.first_site, **ending,
            })  # fmt: skip
        syncs = self.program.once(waiting_loops).warp_syncs
        meetings = {number: self.read(mask, "u32") for number, mask in syncs.items()}
        return Encoded(
            np.array(self.ops, layout.OP), _blocks(blocks), np.array(targets, np.int32),
            np.array(self.values, np.uint64), np.array(self.places, np.int32),
            np.array(self.specials, np.int32), self.rows.bytes, self.zeroed_bytes, self.params,
            self.symbols, self.offsets, meetings, self.why_only_judged,
        )  # fmt: skip

    # --- operations -----------------------------------------------------------------------

    def _op(self, op: Op) -> None:
        self.check_written(op.registers_read(), op.site)
        self.begin()
        special = getattr(self, f"_op_{op.name}", None)
        if special is not None:
            special(op)
        else:
            self.computed(op)
        for name, row, narrow in self.after:
            self.emit(name, [row], [narrow])
        self.note_written(op.registers_written())

    def _op_param(self, op: Op) -> None:
        offset = op.sources[0]
        assert isinstance(offset, Constant)
        for i, type_ in enumerate(op.result_types):
            if self.result(op, i, optional=True) == NOWHERE:
                continue
            row = self.param(op.variant[0], offset.bits + i * TYPE_SIZES[type_], type_)
            self.emit(f"mov/{lane_bytes(type_)}", [self.widened(op, i)], [row])

    def _op_cvta(self, op: Op) -> None:
        direction, space = op.variant
        base, _ = self.window(space)
        row = self.read(op.sources[0], "u64")
        if not base:
            self.emit("mov/8", [self.result(op)], [row])
            return
        name = "sub/u64" if direction == "to" else "add/u64"
        self.emit(name, [self.result(op)], [row, self.constant(base, 8)])

    # --- memory ---------------------------------------------------------------------------

    def _address(self, op: Op) -> tuple[int, bool, int]:
        """Row of the base, whether it has 64 bits, offset."""
        offset = op.sources[1]
        assert isinstance(offset, Constant)
        signed = offset.bits - (1 << 64) if offset.bits >> 63 else offset.bits
        wide = op.source_types[0] == "u64"
        return self.read(op.sources[0], op.source_types[0]), wide, signed

    def _access(
        self, name: str, op: Op, results: list[int], values: list[int], size: int, count: int,
        cost: int = 0,
    ) -> None:  # fmt: skip
        base, wide, offset = self._address(op)
        space = layout.SPACES.get(op.variant[0])
        if space is None:
            raise Unsupported(f"{name} in {op.variant[0]} space")
        kind = self.kinds[op.site]
        if op.name == "atom" and kind == PLAIN:  # of a call that the system answers
            kind = ATOMIC
        if self.program.sites[op.site].opcode.startswith("st.async") and op.name == "st":
            kind = PLAIN  # what is atomic is how it tells the mbarrier
        self.emit(
            name, results, [base, *values], site=op.site, width=size, count=count, space=space,
            kind=kind, cost=cost, wide_base=wide, immediate=offset,
        )  # fmt: skip

    def _op_ld(self, op: Op) -> None:
        type_ = op.result_types[0]
        size = TYPE_SIZES[type_]
        sign = "s" if type_[0] == "s" else "u"
        name = f"ld/{sign}{8 * size}" if size < 4 else f"ld/{size}"
        if len(op.results) > layout.MAX_RESULTS:
            self._load_bytes(op)
            return
        results = [self.widened(op, i, optional=True) for i in range(len(op.results))]
        cost = layout.UNCOUNTED if "uncounted" in op.variant else 0
        self._access(name, op, results, [], size, len(op.results), cost)

    def _load_bytes(self, op: Op) -> None:
        """A fragment of sixteen bytes, which are loaded as words."""
        if op.result_types[0] != "u8":
            raise Unsupported(f"ld of {len(op.results)} {op.result_types[0]}")
        words = [self.temporary(4) for _ in range(len(op.results) // 4)]
        self._access("ld/4", op, words, [], 4, len(words))
        for i in range(len(op.results)):
            field = [self.constant(8 * (i % 4), 4), self.constant(8, 4)]
            self.emit("bfe/u32", [self.widened(op, i)], [words[i // 4], *field])

    def _op_st(self, op: Op) -> None:
        type_ = op.source_types[2]
        values = [self.read(s, type_) for s in op.sources[2:]]
        size = TYPE_SIZES[type_]
        self._access(f"st/{size}", op, [], values, size, len(values))

    def _op_atom(self, op: Op) -> None:
        type_ = op.source_types[2]
        values = [self.read(s, type_) for s in op.sources[2:]]
        rule = atomic_rule(self.program, op, wanted=bool(self.wanted))
        cost = _COSTS.get(rule, layout.ONE_BY_ONE)
        if rule.startswith(VECTOR):
            cost = layout.VECTOR + int(rule.removeprefix(VECTOR))
        results = [self.widened(op, i, optional=True) for i in range(len(op.results))] or [NOWHERE]
        if atomic_bytes(op) == 16:
            type_ = "b128"
        self._access(
            f"atom.{op.variant[1]}/{type_}", op, results, values, atomic_bytes(op), len(values),
            cost,
        )  # fmt: skip

    def _op_copy_async(self, op: Op) -> None:
        rows = self.sources(op)
        self.emit("copy_async", [], rows, site=op.site, immediate=int(op.variant[0]))

    def _op_copy_commit(self, op: Op) -> None:
        self.emit("copy_commit", [], [], site=op.site)

    def _op_copy_wait(self, op: Op) -> None:
        newest = int(op.variant[0]) if op.variant else -1
        self.emit("copy_wait", [], [], site=op.site, immediate=newest)

    def _op_copy_bulk(self, op: Op) -> None:
        self.only_judged("bulk copies")
        to_shared = op.variant[0] == "shared"
        reduces = op.variant[1:]
        name = f"reduce_bulk.{'/'.join(reduces)}" if reduces else "copy_bulk"
        self.emit(name, [], self.sources(op), site=op.site, immediate=int(to_shared))

    # --- warps ----------------------------------------------------------------------------

    def _warp(self, op: Op, name: str, mode: int = 0) -> None:
        """The mask is the last operand, whose number the judge is told."""
        rows = self.sources(op)
        results = [self.result(op, i, optional=i > 0) for i in range(len(op.results))]
        self.emit(name, results, rows, site=op.site, count=len(rows) - 1, immediate=mode)

    def _op_shfl(self, op: Op) -> None:
        self._warp(op, f"shfl.{op.variant[0]}", layout.SHUFFLES.index(op.variant[0]))

    def _op_vote(self, op: Op) -> None:
        self._warp(op, f"vote.{op.variant[0]}")

    def _op_match(self, op: Op) -> None:
        self._warp(op, f"match.{op.variant[0]}/{lane_bytes(op.source_types[0])}")

    def _op_redux(self, op: Op) -> None:
        self._warp(op, f"redux.{op.variant[0]}/{op.source_types[0]}")

    def _op_activemask(self, op: Op) -> None:
        self._warp(op, "activemask")

    def _op_elect(self, op: Op) -> None:
        self._warp(op, "elect")

    def _op_syncwarp(self, op: Op) -> None:
        self._warp(op, "syncwarp")

    def _op_fence(self, op: Op) -> None:
        """Memory is consistent after every instruction; a fence only excuses races."""
        name = self.program.sites[op.site].opcode
        excuses = name.startswith(("fence", "membar")) and not name.startswith("fence.proxy")
        self.emit("fence", [], [], site=op.site, count=int(excuses))

    # --- the system -----------------------------------------------------------------------

    def _op_assertfail(self, op: Op) -> None:
        self.emit("assertfail", [], self.sources(op), site=op.site)

    def _op_printf(self, op: Op) -> None:
        self.only_judged("printf")
        self.emit("printf", [self.result(op, optional=True)], self.sources(op), site=op.site)

    def _op_enter_frame(self, op: Op) -> None:
        self.only_judged("a stack")
        size = op.sources[2]
        assert isinstance(size, Constant)
        rows = self.sources(op)[:2]
        self.emit("enter_frame", [self.result(op)], rows, site=op.site, immediate=size.bits)

    def _op_copy_struct(self, op: Op) -> None:
        self.only_judged("a stack")
        size, unit = (int(each) for each in op.variant)
        self.emit("copy_struct", [], self.sources(op), site=op.site, width=size, count=unit)

    # --- tensor cores ---------------------------------------------------------------------

    def _product(self, op: Op, types: Sequence[str], rows: list[int], *shape: int) -> None:
        """Operands that there is no room for stand in operations before it."""
        room = layout.MAX_SOURCES
        first, *more = [rows[i : i + room] for i in range(0, len(rows), room)]
        for each in reversed(more):
            self.emit("more operands", [], each)
        results = [self.result(op, i, optional=True) for i in range(len(op.results))]
        self.emit(f"{op.name}/{'.'.join(types)}", results, first, site=op.site,
                  immediate=_bytes(*shape))  # fmt: skip

    def _op_mma(self, op: Op) -> None:
        m, k = (int(v) for v in op.variant[:2])
        flags = _CLAMPS * ("satfinite" in op.variant)
        self._product(op, op.variant[2:6], self.sources(op), m, 8, k, flags)

    def _op_wmma(self, op: Op) -> None:
        m, n, k = (int(v) for v in op.variant[:3])
        flags = _CLAMPS * ("satfinite" in op.variant)
        flags |= _A_BY_COLUMNS * (op.variant[3] == "col") | _B_BY_COLUMNS * (op.variant[4] == "col")
        types = op.variant[5:9]
        rows, given = [], self.sources(op)
        needed = (m * k // per_register(types[1]), k * n // per_register(types[2]),
                  m * n // per_register(types[3]))  # fmt: skip
        for elements, count in zip(needed, op.variant[9:12], strict=True):
            rows += given[: elements // layout.LANES]  # what more there is repeats them
            given = given[int(count) :]
        self._product(op, types, rows, m, n, k, flags)

    def _op_fragment_address(self, op: Op) -> None:
        base, stride, lane = self.sources(op)
        if op.source_types[0] != "u64":
            base = self.made("extend/u32", 8, base)
        shape = _bytes(*(int(v) for v in op.variant))
        self.emit(op.name, [self.result(op)], [base, stride, lane], site=op.site, immediate=shape)

    _op_column_address = _op_fragment_address

    def _op_matrix_rows(self, op: Op) -> None:
        results = [self.result(op, i, optional=True) for i in range(len(op.results))]
        self.emit(op.name, results, self.sources(op), site=op.site, immediate=len(results))

    _op_transpose_8x8 = _op_matrix_rows

    def _op_descriptor_address(self, op: Op) -> None:
        order, row, depth = op.variant
        shape = _bytes(int(row), int(depth), order == "rows")
        self.emit(op.name, [self.result(op)], self.sources(op), site=op.site, immediate=shape)

    # --- endings --------------------------------------------------------------------------

    def _ending(self, block: Block, targets: list[int]) -> dict[str, int]:
        """The fields of a block that say how it ends."""
        end = block.terminator
        self.check_written(terminator_reads(end), end.site)
        if isinstance(end, Jump):
            return {"ending": layout.JUMP, "target": end.target}
        if isinstance(end, Branch):
            return {
                "ending": layout.BRANCH, "target": end.target, "otherwise": end.otherwise,
                "predicate": self.read(end.predicate, "pred"), "taken_if": end.taken_if,
            }  # fmt: skip
        if isinstance(end, Switch):
            first = len(targets)
            targets += end.targets
            pointer = NOWHERE if end.pointer is None else self.offsets[end.pointer.slot]
            return {
                "ending": layout.SWITCH, "predicate": self.read(end.index, "u32"),
                "first_target": first, "targets": len(end.targets), "pointer": pointer,
            }  # fmt: skip
        if isinstance(end, Barrier):
            return self._barrier(end)
        return {"ending": layout.EXIT if isinstance(end, Exit) else layout.TRAP}

    def _barrier(self, end: Barrier) -> dict[str, int]:
        if not isinstance(end.number, Constant) or end.count is not None or end.arrives:
            self.only_judged("a barrier of some of the block's warps")
        if end.result is not None and end.result.slot in self.written:
            self.only_judged("a barrier that writes a register which may be read before")
        site = self.program.sites[end.site]
        one_place = site.opcode.startswith("bar.") or ".aligned" in site.opcode
        rows = {"number": self.read(end.number, "u32")}
        if end.count is not None:
            rows["count"] = self.read(end.count, "u32")
        if end.predicate is not None:
            rows["predicate"] = self.read(end.predicate, "pred")
        if end.result is not None:
            rows["result"] = self.offsets[end.result.slot]
        return {
            "ending": layout.BARRIER, "target": end.target, "arrives": end.arrives,
            "reduction": layout.REDUCTIONS[end.reduction],
            "line": site.ptx_line if one_place else NOWHERE, **rows,
        }  # fmt: skip


def _bytes(*values: int) -> int:
    """An immediate that is made of bytes."""
    return int.from_bytes(bytes(values), "little")


def _blocks(rows: list[dict[str, int]]) -> NDArray[Any]:
    out = np.zeros(len(rows), layout.BLOCK)
    for name in layout.ROWS_OF_A_BLOCK:
        out[name] = NOWHERE
    for number, row in enumerate(rows):
        for name, value in row.items():
            out[name][number] = value
    return out
