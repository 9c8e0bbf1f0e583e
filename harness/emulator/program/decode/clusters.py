"""Decode thread block cluster instructions; every cluster here has a single block.

A kernel compiled for larger clusters is refused at launch. In a cluster of one block, the shared
memory of the cluster is the block's own.
"""

from __future__ import annotations

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Barrier, Constant, Op
from harness.emulator.ptx.syntax import Instruction

CLUSTER_BARRIER = 16
"""The number of the cluster's barrier, after those of the block."""
_BEYOND_SHARED = 24  # bits: an address moved by so much is in no block's shared memory


class ClusterDecoder(OperandReader):
    """Decodes instructions that refer to other blocks of the cluster, or wait for them."""

    def _op_mapa(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """An address in the shared memory of a block of the cluster; only block 0 is there."""
        if modifiers not in ([], ["shared::cluster"]) or types not in (["u32"], ["u64"]):
            raise self.unknown()
        target, address, rank = self.given(instruction, 3)
        kind = types[0]
        away = self.declare(f"!rank {kind}", kind)
        return [
            Op("cvt", (), (away,), (kind,), (self.source(rank, "u32"),), ("u32",), self.site),
            Op("shl", (), (away,), (kind,), (away, Constant(_BEYOND_SHARED)), (kind, "u32"),
               self.site),
            Op("add", (), (self.result(target),), (kind,), (self.source(address, kind), away),
               (kind, kind), self.site),
        ]  # fmt: skip

    def _op_getctarank(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers not in ([], ["shared::cluster"]) or types not in (["u32"], ["u64"]):
            raise self.unknown()
        target, _ = self.given(instruction, 2)
        return [
            Op("mov", (), (self.result(target),), ("u32",), (Constant(0),), ("u32",), self.site)
        ]

    def cluster_arrive(self, modifiers: list[str]) -> list[Op]:
        """`barrier.cluster.arrive`: the corresponding wait is for all threads."""
        if [m for m in modifiers if m != "aligned"] not in ([], ["release"], ["relaxed"]):
            raise self.unknown()
        return [Op("fence", ("",), (), (), (), (), self.site)]

    def cluster_wait(self, modifiers: list[str]) -> Barrier:
        if [m for m in modifiers if m != "aligned"] not in ([], ["acquire"]):
            raise self.unknown()
        return Barrier(Constant(CLUSTER_BARRIER), None, -1, self.site)
