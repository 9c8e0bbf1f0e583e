"""Lower loads, stores, atomics and copies."""

from __future__ import annotations

from harness.emulator.engine import layout
from harness.emulator.engine.lowering.register_rows import NOWHERE, Emitter, Unsupported
from harness.emulator.program.analysis.access_kinds import (
    ATOMIC,
    BLOCK_ATOMIC,
    COMBINED,
    COUNTS_UP,
    PLAIN,
    UNCOUNTED,
    VECTOR,
    VOLATILE,
    atomic_bytes,
    atomic_rule,
    fences,
    is_test_of_mbarrier,
    kind_of,
)
from harness.emulator.program.ir import Constant, Op
from harness.emulator.ptx.syntax import TYPE_SIZES

_SPACES = {
    "global": layout.GLOBAL, "shared": layout.SHARED, "local": layout.LOCAL, "": layout.GENERIC,
    "const": layout.UNCOUNTED,
}  # fmt: skip
_KINDS = {
    PLAIN: layout.PLAIN, VOLATILE: layout.VOLATILE, ATOMIC: layout.ATOMIC,
    BLOCK_ATOMIC: layout.BLOCK_ATOMIC,
}  # fmt: skip
_COSTS = {
    COUNTS_UP: layout.COUNTS_UP, "cas": layout.COMPARES, COMBINED: layout.COMBINED,
    UNCOUNTED: layout.NOT_COUNTED,
}  # fmt: skip

MOST_GROUPS = 2**31 - 1
"""The largest number of groups that a wait may leave in flight; no thread ever has that many."""


class MemoryEncoder(Emitter):
    """Encodes the operations that access memory."""

    def _address(self, op: Op) -> tuple[int, bool, int]:
        """The base's row, whether the base is 64 bits wide, and the offset."""
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
        space = _SPACES.get(op.variant[0])
        if space is None:
            raise Unsupported(f"{name} in {op.variant[0]} space")
        self.emit(
            name, results, [base, *values], site=op.site, width=size, count=count, space=space,
            kind=_KINDS[kind_of(self.program, op)], cost=cost, wide_base=wide, immediate=offset,
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
        cost = layout.NOT_COUNTED if "uncounted" in op.variant else 0
        if is_test_of_mbarrier(self.program, op) and self.program.once(fences)[op.site]:
            name = "ld.phase/8"
        self._access(name, op, results, [], size, len(op.results), cost)

    def _load_bytes(self, op: Op) -> None:
        """Load a 16-byte fragment as words, then extract its bytes."""
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
        name = op.variant[1]
        if name in ("arrive", "arrive_drop") and not self.program.once(fences)[op.site]:
            name += ".relaxed"
        self._access(
            f"atom.{name}/{type_}", op, results, values, atomic_bytes(op), len(values),
            cost,
        )  # fmt: skip

    def _op_discard(self, op: Op) -> None:
        self.only_judged("discard")
        base, wide, offset = self._address(op)
        self.emit("discard", [], [base], site=op.site, wide_base=wide, immediate=offset)

    def _op_copy_async(self, op: Op) -> None:
        rows = self.sources(op)
        self.emit("copy_async", [], rows, site=op.site, immediate=int(op.variant[0]))

    def _op_copy_commit(self, op: Op) -> None:
        self.emit("copy_commit", [], [], site=op.site)

    def _op_copy_wait(self, op: Op) -> None:
        newest = int(op.variant[0]) if op.variant else -1
        self.emit("copy_wait", [], [], site=op.site, immediate=newest)

    def _op_copy_hand_over(self, op: Op) -> None:
        if not self.in_step:
            self.only_judged("copies that report to an mbarrier which nobody tests")
        wide = op.source_types[0] == "u64"
        self.emit("copy_hand_over", [], self.sources(op), site=op.site, wide_base=wide)

    def _op_bulk_commit(self, op: Op) -> None:
        self.only_judged("bulk copies")
        self.emit("bulk_commit", [], [], site=op.site)

    def _op_bulk_wait(self, op: Op) -> None:
        self.only_judged("bulk copies")
        newest, only_read = min(int(op.variant[0]), MOST_GROUPS), op.variant[1:] == ("read",)
        self.emit("bulk_wait", [], [], site=op.site, width=newest, immediate=int(only_read))

    def _op_copy_tensor(self, op: Op) -> None:
        self.only_judged("bulk copies")
        space, dimensions, im2col, offsets, reduces, to_many = op.variant
        results = [self.result(op, optional=True)] if op.results else []
        self.emit(
            f"reduce_tensor.{reduces}" if reduces else "copy_tensor", results, self.sources(op),
            site=op.site, width=int(dimensions), count=int(im2col), kind=int(offsets),
            immediate=layout.IN_MANY_BLOCKS if int(to_many) else int(space == "shared"),
        )  # fmt: skip

    def _op_copy_bulk(self, op: Op) -> None:
        space, way, *reduces = op.variant
        if space != "shared" or way or not self.in_step:
            self.only_judged("bulk copies")
        name = f"reduce_bulk.{'/'.join(reduces)}" if reduces else "copy_bulk"
        how = {"many": layout.IN_MANY_BLOCKS, "between": layout.BETWEEN_BLOCKS}
        self.emit(name, [], self.sources(op), site=op.site, wide_base=True,
                  immediate=how.get(way, int(space == "shared")))  # fmt: skip
