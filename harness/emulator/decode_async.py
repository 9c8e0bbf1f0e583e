"""Asynchronous copies to typed operations."""

from __future__ import annotations

from harness.emulator.decode_memory import MemoryDecoder
from harness.emulator.program import Constant, Op, Source
from harness.emulator.ptx import Instruction, Number, Operand


class AsyncDecoder(MemoryDecoder):
    """`cp.async` without an mbarrier; bulk copies and mbarriers are unknown."""

    def _op_cp(self, instruction: Instruction, _: list[str], __: list[str]) -> list[Op]:
        words = instruction.opcode.split(".")[1:]
        if words in (["async", "commit_group"], ["async", "wait_all"]):
            name = "copy_commit" if words[1] == "commit_group" else "copy_wait"
            return [Op(name, (), (), (), (), (), self.site)]
        if words == ["async", "wait_group"]:
            (left,) = self.given(instruction, 1)
            return [Op("copy_wait", (str(self._literal(left)),), (), (), (), (), self.site)]
        hints = [w for w in words if w.startswith("L2::") and "cache_hint" not in w]
        words = [w.partition("::")[0] for w in words if w not in hints]
        if words not in (["async", "ca", "shared", "global"], ["async", "cg", "shared", "global"]):
            raise self.unknown()
        target, source, size, *filled = self.given(instruction, 3, 4)
        count = self._literal(size)
        if count not in ((16,) if "cg" in words else (4, 8, 16)):
            raise self.unknown()
        ops: list[Op] = []
        places = (("shared", target), ("global", source))
        ends = [self._end(s, o, f"!copy {i}", ops) for i, (s, o) in enumerate(places)]
        read = self.source(filled[0], "u32") if filled else Constant(count)
        kinds = ("u64", "u64", "u32")
        ops.append(Op("copy_async", (str(count),), (), (), (*ends, read), kinds, self.site))
        return ops

    def _literal(self, operand: Operand) -> int:
        if not isinstance(operand, Number) or not isinstance(operand.value, int):
            raise self.unknown("expected an integer")
        return operand.value

    def _end(self, space: str, operand: Operand, name: str, ops: list[Op]) -> Source:
        """An address as one 64-bit register."""
        base, offset, kind = self._place(space, operand)
        register = self.declare(name, "u64")
        ops.append(Op("cvt", (), (register,), ("u64",), (base,), (kind,), self.site))
        ops.append(Op("add", (), (register,), ("u64",), (register, offset), ("u64", "u64"),
                      self.site))  # fmt: skip
        return register
