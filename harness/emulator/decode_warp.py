"""Instructions that involve more threads than one: shuffles, votes, fences, barriers."""

from __future__ import annotations

from harness.emulator import signatures
from harness.emulator.operands import OperandReader
from harness.emulator.program import Barrier, Op, Register, unsigned
from harness.emulator.ptx import Instruction, Operand, Pair


class WarpDecoder(OperandReader):
    """The instructions by which threads see or wait for each other."""

    def _warp_op(
        self, name: str, variant: str, results: tuple[Register | None, ...],
        result_types: tuple[str, ...], sources: tuple[Operand, ...], source_types: tuple[str, ...],
    ) -> list[Op]:  # fmt: skip
        if len(sources) != len(source_types):
            raise self.unknown()
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        ops.append(Op(name, (variant,), results, result_types, read, source_types, self.site))
        return ops

    def _op_shfl(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or types != ["b32"]:
            raise self.unknown()
        if modifiers[1] not in ("up", "down", "bfly", "idx"):
            raise self.unknown()
        target, *sources = instruction.operands
        both = (target.first, target.second) if isinstance(target, Pair) else (target,)
        made = tuple(self.result(r) for r in both)
        return self._warp_op(
            "shfl", modifiers[1], made, ("u32", "pred")[: len(made)], tuple(sources), ("u32",) * 4
        )

    def _op_vote(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or len(types) != 1:
            raise self.unknown()
        mode = modifiers[1]
        if (mode, types[0]) not in {
            ("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32")
        }:  # fmt: skip
            raise self.unknown()
        target, *sources = instruction.operands
        kind = "u32" if mode == "ballot" else "pred"
        return self._warp_op(
            "vote", mode, (self.result(target),), (kind,), tuple(sources), ("pred", "u32")
        )

    def _op_match(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(modifiers) != 2 or set(modifiers) - {"sync", "any", "all"} or len(types) != 1:
            raise self.unknown()
        mode = "any" if "any" in modifiers else "all"
        target, *sources = instruction.operands
        both = (target.first, target.second) if isinstance(target, Pair) else (target,)
        made = tuple(self.result(r) for r in both)
        kinds = ("u32", "pred")[: len(made)]
        return self._warp_op(
            "match", mode, made, kinds, tuple(sources), (unsigned(types[0]), "u32")
        )

    def _op_redux(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers[:1] != ["sync"] or len(modifiers) != 2 or len(types) != 1:
            raise self.unknown()
        if modifiers[1] not in ("add", "min", "max", "and", "or", "xor"):
            raise self.unknown()
        if types[0] not in ("u32", "s32", "b32"):
            raise self.unknown()
        kind = types[0] if modifiers[1] in ("min", "max") else "u32"
        target, *sources = instruction.operands
        return self._warp_op(
            "redux", modifiers[1], (self.result(target),), (kind,), tuple(sources), (kind, "u32")
        )

    def _op_activemask(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if modifiers or types != ["b32"]:
            raise self.unknown()
        return self._warp_op(
            "activemask", "", (self.result(instruction.operands[0]),), ("u32",), (), ()
        )

    def _op_elect(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        target, mask = instruction.operands
        if modifiers != ["sync"] or types or not isinstance(target, Pair):
            raise self.unknown()
        made = (self.result(target.first), self.result(target.second))
        return self._warp_op("elect", "", made, ("u32", "pred"), (mask,), ("u32",))

    def _op_bar(self, instruction: Instruction, modifiers: list[str], _: list[str]) -> list[Op]:
        if modifiers != ["warp", "sync"]:
            raise self.unknown()
        return self._warp_op("syncwarp", "", (), (), instruction.operands, ("u32",))

    def _op_fence(self, instruction: Instruction, modifiers: list[str], _: list[str]) -> list[Op]:
        known = {"sc", "acq_rel", "acquire", "release", "cta", "gpu", "sys", "cluster", "gl"}
        if not set(modifiers) <= known:
            raise self.unknown()
        return self._warp_op("fence", "", (), (), (), ())

    _op_membar = _op_fence

    def _op_nanosleep(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        return self._warp_op("fence", "", (), (), (), ())

    def _op_prefetch(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """A hint: it moves data between caches and faults on nothing."""
        return self._warp_op("fence", "", (), (), (), ())

    _op_pmevent = _op_nanosleep
    _op_griddepcontrol = _op_nanosleep
    _op_prefetchu = _op_prefetch
    _op_discard = _op_prefetch
    _op_applypriority = _op_prefetch

    def barrier(self, instruction: Instruction) -> tuple[list[Op], Barrier]:
        """`bar` and `barrier` with sync, arrive or red: the operations before it, and itself."""
        _, modifiers, types = signatures.split_opcode(instruction.opcode)
        modifiers = [m for m in modifiers if m not in ("cta", "aligned")]
        operands = list(instruction.operands)
        ops: list[Op] = []
        if modifiers == ["sync"] and not types and len(operands) in (1, 2):
            count = self.source(operands[1], "u32") if len(operands) == 2 else None
            number = self.source(operands[0], "u32")
            return ops, Barrier(number, count, -1, self.site)
        if modifiers == ["arrive"] and not types and len(operands) == 2:
            number, threads = (self.source(o, "u32") for o in operands)
            return ops, Barrier(number, threads, -1, self.site, arrives=True)
        reductions = {("popc", "u32"), ("and", "pred"), ("or", "pred")}
        if len(modifiers) != 2 or modifiers[0] != "red" or len(types) != 1:
            raise self.unknown()
        if (modifiers[1], types[0]) not in reductions or len(operands) not in (3, 4):
            raise self.unknown()
        count = self.source(operands[2], "u32") if len(operands) == 4 else None
        predicate = self.source(operands[-1], "pred", ops)
        if not isinstance(predicate, Register):
            held = self.declare("!bar.red", "pred")
            ops.append(Op("mov", (), (held,), ("pred",), (predicate,), ("pred",), self.site))
            predicate = held
        return ops, Barrier(
            self.source(operands[1], "u32"), count, -1, self.site, modifiers[1], predicate,
            self.result(operands[0]),
        )  # fmt: skip
