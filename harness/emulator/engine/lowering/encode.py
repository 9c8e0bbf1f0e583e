"""Lower a `Program` for the warp machine: registers become rows, operations become numbers.

Each program operation becomes one or more machine operations. A comparison combined with a
predicate, for example, becomes a comparison and a logical operation. An operation that the machine
lacks is rejected with `UnknownInstruction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import layout
from harness.emulator.engine.library import Machine
from harness.emulator.engine.lowering.arithmetic import ComputingEncoder
from harness.emulator.engine.lowering.memory import MOST_GROUPS, MemoryEncoder
from harness.emulator.engine.lowering.register_rows import NOWHERE, Unsupported, lane_bytes
from harness.emulator.engine.lowering.textures import TextureEncoder
from harness.emulator.engine.lowering.video import VideoEncoder
from harness.emulator.errors import UnknownInstruction
from harness.emulator.program.analysis.access_kinds import BLOCK_ATOMIC, access_kind
from harness.emulator.program.analysis.liveness import needed_ops
from harness.emulator.program.analysis.waiting_loops import waiting_loops
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
from harness.emulator.ptx.syntax import TYPE_SIZES

_SHUFFLES = ("idx", "up", "down", "bfly")
_REDUCTIONS = {
    "": layout.NO_REDUCTION, "popc": layout.POPC, "and": layout.AND, "or": layout.OR,
}  # fmt: skip
_CLAMPS, _A_BY_COLUMNS, _B_BY_COLUMNS = 1, 2, 4  # modifiers of a matrix product
_SELECTOR_SHIFT = 3  # position of the selector in a sparse product's flags


@dataclass
class Encoded:
    """A program in the machine's form.

    `constants` holds one lane's values of the rows that never change. Values that depend on the
    launch are zero here, and are listed in `params` (number, offset into the parameters, bytes) and
    `symbols` (number, name, offset, shift in bits). `rows` are the rows of the program's registers.
    `heads` are the basic blocks at which loops that may wait begin, each with the index and the
    number of its entries in `watched`. These are the rows that show whether an iteration changed
    anything. `meetings` are the basic blocks in which lanes of a warp synchronise, each with the
    mask's row, the site at which they exchange values (or -1) and the instruction's kind (or -1).
    `in_step`: whether the warps of a block have to advance in step. `why_only_judged`: why only the
    judge can run it, or empty.
    """

    ops: NDArray[Any]
    blocks: NDArray[Any]
    switch_targets: NDArray[np.int32]
    constants: NDArray[np.uint64]
    constant_offsets: NDArray[np.int32]
    special_offsets: NDArray[np.int32]
    heads: NDArray[np.int32]
    watched: NDArray[np.int32]
    meetings: NDArray[np.int32]
    register_bytes: int
    zeroed_bytes: int
    in_step: bool
    params: list[tuple[int, int, int]] = field(default_factory=list)
    symbols: list[tuple[int, str, int, int]] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)
    why_only_judged: str = ""


def encode(program: Program, machine: Machine) -> Encoded:
    """Lower a program. Raises UnknownInstruction for an operation that the machine lacks."""
    return _Encoder(program, machine).encoded()


class _Encoder(ComputingEncoder, VideoEncoder, MemoryEncoder, TextureEncoder):
    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(program, machine)
        if program.once(waiting_loops).heads and not program.once(waiting_loops).at_mbarriers:
            self.only_judged("a loop that waits for another thread")
        if RESERVED.name in program.shared:
            self.only_judged("shared memory that the system clears")
        if any(access_kind(site.opcode) == BLOCK_ATOMIC for site in program.sites):
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
        found = self.program.once(waiting_loops)
        heads, watched = [], list[int]()
        for number, slots in found.heads.items():
            heads.append((number, len(watched), len(slots)))
            watched += [self._watched(slot) for slot in slots]
        syncs = found.warp_syncs.items()
        meetings = [(n, self.read(sync.mask, "u32"), sync.site, sync.kind) for n, sync in syncs]
        return Encoded(
            np.array(self.ops, layout.OP), _blocks(blocks), np.array(targets, np.int32),
            np.array(self.values, np.uint64), np.array(self.places, np.int32),
            np.array(self.specials, np.int32), np.array(heads, np.int32),
            np.array(watched, np.int32), np.array(meetings, np.int32), self.rows.bytes,
            self.zeroed_bytes, self.in_step, self.params, self.symbols, self.offsets,
            self.why_only_judged,
        )  # fmt: skip

    def _watched(self, slot: int) -> int:
        """A register's row, with the lowest bit set if its lanes have 8 bytes."""
        return self.offsets[slot] | (lane_bytes(self.program.registers[slot].type) == 8)

    # --- operations -----------------------------------------------------------------------

    def _op(self, op: Op) -> None:
        self.check_written(op.registers_read(), op.site)
        self.check_clock(op.registers_read(), op.site)
        self.begin()
        self.site = op.site
        self.takes_clock = op.name == "mov"
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
        if (direction, space) == ("from", "param"):
            # The code may have kept only the address's low 32 bits, which identify a parameter.
            low = self.made("extend/u32", 8, self.made("low/8", 4, row))
            self.emit("add/u64", [self.result(op)], [low, self.parameters()])
            return
        if not base:
            self.emit("mov/8", [self.result(op)], [row])
            return
        name = "sub/u64" if direction == "to" else "add/u64"
        self.emit(name, [self.result(op)], [row, self.constant(base, 8)])

    # --- warps ----------------------------------------------------------------------------

    def _warp(self, op: Op, name: str, mode: int = 0) -> None:
        """Emit a warp-wide operation; `count` is the index of its last operand, the mask."""
        rows = self.sources(op)
        results = [self.result(op, i, optional=i > 0) for i in range(len(op.results))]
        self.emit(name, results, rows, site=op.site, count=len(rows) - 1, immediate=mode)

    def _op_shfl(self, op: Op) -> None:
        self._warp(op, f"shfl.{op.variant[0]}", _SHUFFLES.index(op.variant[0]))

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
        """Memory is consistent after every instruction of a job, so fences only affect the race
        check; a proxy fence orders threads' writes before later bulk copies.
        """
        name = self.program.sites[op.site].opcode
        excuses = name.startswith(("fence", "membar")) and not name.startswith("fence.proxy")
        between = name.startswith("fence.proxy.async")
        self.emit("fence", [], [], site=op.site, count=int(excuses), immediate=int(between),
                  width=int(name.startswith("wgmma")))  # fmt: skip

    def _op_set_registers(self, op: Op) -> None:
        count, how = op.variant
        if how == "inc":
            self.only_judged("registers that a warp waits for")
        self.emit(op.name, [], [], site=op.site, count=int(how == "inc"), immediate=int(count))

    def _op_mbarrier_count(self, op: Op) -> None:
        self.emit(op.name, [], self.sources(op), site=op.site)

    def _op_cluster_arrive(self, op: Op) -> None:
        releases = op.variant != ("relaxed",)
        if not releases:
            self.only_judged("a barrier of the cluster that orders nothing")
        self.emit("cluster_arrive", [], [], site=op.site, immediate=int(releases))

    def _op_mapa(self, op: Op) -> None:
        kind = op.result_types[0]
        self.emit(f"mapa/{kind}", [self.result(op)], self.sources(op), site=op.site)

    def _op_getctarank(self, op: Op) -> None:
        kind = op.source_types[0]
        self.emit(f"getctarank/{kind}", [self.result(op)], self.sources(op), site=op.site)

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
        """Pass surplus operands in separate operations, which precede the MMA."""
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

    def _op_mma_sparse(self, op: Op) -> None:
        m, k = (int(v) for v in op.variant[:2])
        flags = _CLAMPS * ("satfinite" in op.variant) | int(op.variant[-1]) << _SELECTOR_SHIFT
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
            rows += given[: elements // layout.LANES]  # any further registers repeat these
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

    def _op_factor_read(self, op: Op) -> None:
        self.only_judged("a warpgroup's product")
        rows, turned, slices = map(int, op.variant)
        self.emit(op.name, [], self.sources(op), site=op.site, count=rows,
                  immediate=_bytes(turned, slices))  # fmt: skip

    def _op_factor_words(self, op: Op) -> None:
        first, turned, turns = map(int, op.variant)
        results = [self.result(op, i, optional=True) for i in range(len(op.results))]
        self.emit(op.name, results, self.sources(op), site=op.site, width=first,
                  count=len(results), immediate=_bytes(turned, turns))  # fmt: skip

    def _op_products_hold(self, op: Op) -> None:
        """Record which registers a `wgmma` uses; `variant`: the shape for accumulators or 0 for an
        operand, followed by the registers' slots.
        """
        shape, *slots = map(int, op.variant)
        rows = [self.offsets[slot] for slot in slots]
        for first in range(0, len(rows), layout.MAX_SOURCES):
            some = rows[first : first + layout.MAX_SOURCES]
            self.emit(op.name, [], some, site=op.site, immediate=shape)

    def _op_products_commit(self, op: Op) -> None:
        self.emit(op.name, [], [], site=op.site)

    def _op_products_wait(self, op: Op) -> None:
        self.emit(op.name, [], [], site=op.site, count=min(int(op.variant[0]), MOST_GROUPS))

    # --- endings --------------------------------------------------------------------------

    def _ending(self, block: Block, targets: list[int]) -> dict[str, int]:
        """The fields of a block that describe its terminator."""
        end = block.terminator
        self.check_written(terminator_reads(end), end.site)
        self.check_clock(terminator_reads(end), end.site)
        if isinstance(end, Jump):
            return {"ending": layout.JUMP, "target": end.target}
        if isinstance(end, Branch):
            return {
                "ending": layout.BRANCH, "target": end.target, "otherwise": end.otherwise,
                "predicate": self.read(end.predicate, "pred"), "taken_if": end.taken_if,
            }  # fmt: skip
        if isinstance(end, Switch):
            targets += end.targets
            return {
                "ending": layout.SWITCH, "predicate": self.read(end.index, "u32"),
                "first_target": len(targets) - len(end.targets), "targets": len(end.targets),
                "pointer": NOWHERE if end.pointer is None else self.offsets[end.pointer.slot],
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
        rows = {"number": self.read(end.number, "u32"), "of_cluster": int(end.of_cluster),
                "of_program": int(site.opcode.startswith(("bar.", "barrier.")))}  # fmt: skip
        if end.count is not None:
            rows["count"] = self.read(end.count, "u32")
        if end.predicate is not None:
            rows["predicate"] = self.read(end.predicate, "pred")
        if end.result is not None:
            rows["result"] = self.offsets[end.result.slot]
        return {
            "ending": layout.BARRIER, "target": end.target, "arrives": end.arrives,
            "reduction": _REDUCTIONS[end.reduction],
            "line": site.ptx_line if one_place else NOWHERE, **rows,
        }  # fmt: skip


def _bytes(*values: int) -> int:
    """Build an immediate from bytes, the lowest first."""
    return int.from_bytes(bytes(values), "little")


def _blocks(rows: list[dict[str, int]]) -> NDArray[Any]:
    out = np.zeros(len(rows), layout.BLOCK)
    for name in layout.ROWS_OF_A_BLOCK:
        out[name] = NOWHERE
    for number, row in enumerate(rows):
        for name, value in row.items():
            out[name][number] = value
    return out
