"""Decode conversions between numbers, to 16-bit and 8-bit formats, and between packed pairs."""

from __future__ import annotations

from harness.emulator.program import signatures
from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import FP8_PAIRS, HALVES, Op
from harness.emulator.ptx.syntax import Instruction

_PACKED = {"u16": "s32", "s16": "s32", "u8": "s32", "s8": "s32"}


class ConversionDecoder(OperandReader):
    """`cvt` in all its forms."""

    def _op_cvt(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if modifiers[:1] == ["pack"]:
            return self._packed(instruction, modifiers, types)
        if not set(FP8_PAIRS).isdisjoint(types):
            return self._of_fp8(instruction, modifiers, types)
        if len(types) == 2 and types[1] == "f32" and types[0] in (*HALVES, "tf32"):
            return self._to_half(instruction, modifiers, types[0])
        if len(types) != 2 or not set(types) <= signatures.CONVERSION_TYPES:
            raise self.unknown()
        if not signatures.converts(modifiers, types[0], types[1]):
            raise self.unknown()
        target, source = self.given(instruction, 2)
        return [
            Op("cvt", tuple(modifiers), (self.result(target),), (types[0],),
               (self.source(source, types[1]),), (types[1],), self.site)
        ]  # fmt: skip

    def _to_half(self, instruction: Instruction, modifiers: list[str], to: str) -> list[Op]:
        """Convert a float to a half or to tf32, or two floats (the upper first) to a pair of
        halves."""
        target, sources = self.result_and_sources(instruction)
        known = signatures.converts(modifiers, to, "f32")
        if not known or len(sources) != (2 if to.endswith("x2") else 1):
            raise self.unknown()
        return [
            Op("cvt", tuple(modifiers), (self.result(target),), (to,),
               tuple(self.source(s, "f32") for s in sources), ("f32",) * len(sources), self.site)
        ]  # fmt: skip

    def _of_fp8(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        """Convert two floats (the upper first) or a pair of f16 to a pair of 8-bit floats, or
        back."""
        target, sources = self.result_and_sources(instruction)
        narrows = types[0] in FP8_PAIRS and types[1:] in (["f32"], ["f16x2"])
        widens = types[0] == "f16x2" and types[1:] in ([f] for f in FP8_PAIRS)
        needed = ["rn", "satfinite"] if narrows else ["rn"]
        if not (narrows or widens) or modifiers not in (needed, [*needed, "relu"]):
            raise self.unknown()
        if len(sources) != (2 if types[1] == "f32" else 1):
            raise self.unknown()
        read = tuple(self.source(s, types[1]) for s in sources)
        return [
            Op("cvt", tuple(modifiers), (self.result(target),), (types[0],), read,
               (types[1],) * len(read), self.site)
        ]  # fmt: skip

    def _packed(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        """`cvt.pack.sat`: two clamped integers, the upper first; bytes are placed below the lower
        half of a third operand."""
        narrow = types[0] if types else ""
        byte = narrow in ("u8", "s8")
        wanted = [narrow, "s32", "b32"] if byte else [narrow, "s32"]
        if modifiers != ["pack", "sat"] or narrow not in _PACKED or types != wanted:
            raise self.unknown()
        target, upper, lower, *rest = self.given(instruction, 4 if byte else 3)
        half = "u8" if byte else "u16"
        parts = [self.declare(f"!packed {n} {half}", half) for n in range(2)]
        ops = [
            Op("cvt", ("sat",), (part,), (narrow,), (self.source(operand, "s32"),), ("s32",),
               self.site)
            for part, operand in zip(parts, (lower, upper), strict=True)
        ]  # fmt: skip
        result = self.result(target)
        if not byte:
            return [*ops, Op("pack", (), (result,), ("u32",), tuple(parts), (half,) * 2, self.site)]
        low, high = (self.declare(f"!packed {name}", "u16") for name in ("bytes", "upper"))
        above = self.source(rest[0], "u32")
        return [
            *ops,
            Op("pack", (), (low,), ("u16",), tuple(parts), (half,) * 2, self.site),
            Op("cvt", (), (high,), ("u16",), (above,), ("u32",), self.site),
            Op("pack", (), (result,), ("u32",), (low, high), ("u16",) * 2, self.site),
        ]
