"""Decode instructions for a thread block cluster: its barrier, and its blocks' shared memory.

An address in the cluster's shared memory lies in the window of one of its blocks;
`machine/cluster.cpp` lays out the windows. An instruction with `.shared::cluster` takes this
address as a generic one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.emulator.program.decode.mbarriers import MbarrierDecoder
from harness.emulator.program.ir import Barrier, Constant, Op
from harness.emulator.ptx.syntax import TYPE_SIZES, Instruction, Memory, Operand

CLUSTER_BARRIER = 16
"""The number of the cluster's barrier, after those of the block."""
_CLUSTER = "shared::cluster"
_MOST_BYTES = 16
_WAITS = ("mbarrier.test_wait", "mbarrier.try_wait")

Read = Callable[[Instruction, list[str], list[str]], list[Op]]


class ClusterDecoder(MbarrierDecoder):
    """Decodes instructions that refer to other blocks of the cluster, or wait for them."""

    def _op_mapa(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """`mapa`: the corresponding address in the shared memory of the block with a given rank."""
        if modifiers not in ([], [_CLUSTER]) or types not in (["u32"], ["u64"]):
            raise self.unknown()
        target, address, rank = self.given(instruction, 3)
        kind = types[0]
        read = (self.source(address, kind), self.source(rank, "u32"))
        return [Op("mapa", (), (self.result(target),), (kind,), read, (kind, "u32"), self.site)]

    def _op_getctarank(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers not in ([], [_CLUSTER]) or types not in (["u32"], ["u64"]):
            raise self.unknown()
        target, address = self.given(instruction, 2)
        read = (self.source(address, types[0]),)
        made = (self.result(target),)
        return [Op("getctarank", (), made, ("u32",), read, (types[0],), self.site)]

    def cluster_arrive(self, modifiers: list[str]) -> list[Op]:
        """Decode `barrier.cluster.arrive`, which does not wait. The corresponding
        `barrier.cluster.wait` waits for all threads."""
        order = [m for m in modifiers if m != "aligned"]
        if order not in ([], ["release"], ["relaxed"]):
            raise self.unknown()
        return [Op("cluster_arrive", tuple(order), (), (), (), (), self.site)]

    def cluster_wait(self, modifiers: list[str]) -> Barrier:
        if [m for m in modifiers if m != "aligned"] not in ([], ["acquire"]):
            raise self.unknown()
        return Barrier(Constant(CLUSTER_BARRIER), None, -1, self.site, of_cluster=True)

    # --- the shared memory of the cluster ---------------------------------------------------

    def _op_ld(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._by_windows(super()._op_ld, instruction, modifiers, types)

    def _op_st(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._by_windows(super()._op_st, instruction, modifiers, types)

    def _op_atom(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        return self._by_windows(super()._op_atom, instruction, modifiers, types)

    def _op_red(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._by_windows(super()._op_red, instruction, modifiers, types)

    def _op_mbarrier(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if _CLUSTER in modifiers and instruction.opcode.startswith(_WAITS):
            raise self.unknown("a wait is for an mbarrier of the thread's own block")
        return self._by_windows(super()._op_mbarrier, instruction, modifiers, types)

    def _by_windows(
        self, read: Read, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode an instruction, preceded by operations that convert its addresses in the cluster's
        shared memory to generic ones."""
        if _CLUSTER not in modifiers:
            return read(instruction, modifiers, types)
        ops: list[Op] = []
        operands = tuple(
            self._generic(operand, number, ops) if isinstance(operand, Memory) else operand
            for number, operand in enumerate(instruction.operands)
        )
        rest = [m for m in modifiers if m != _CLUSTER]
        width = max((int(m[1:]) for m in rest if m in ("v2", "v4", "v8")), default=1)
        if types and width * TYPE_SIZES[types[0]] > _MOST_BYTES:  # only global memory has those
            raise self.unknown()
        return [*ops, *read(replace(instruction, operands=operands), rest, types)]

    def _generic(self, operand: Memory, number: int, ops: list[Op]) -> Operand:
        base, offset, kind = self._place("shared", operand)
        name = f"!cluster address {number}"
        register = self.declare(name, "u64")
        if kind == "u32":  # wraps around before it is widened
            at = self.declare(f"{name} in 32 bits", "u32")
            low = Constant(offset.bits & (1 << 32) - 1)
            ops += [
                Op("add", (), (at,), ("u32",), (base, low), ("u32", "u32"), self.site),
                Op("cvt", (), (register,), ("u64",), (at,), ("u32",), self.site),
            ]
            base, offset = register, Constant(0)
        ops.append(Op("cvta", ("from", "shared"), (register,), ("u64",), (base,), ("u64",),
                      self.site))  # fmt: skip
        return Memory(name, offset.bits)
