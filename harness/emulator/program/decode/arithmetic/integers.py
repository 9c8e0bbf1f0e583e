"""Decode integer instructions that do not fit the signature table: carries, dot products."""

from __future__ import annotations

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Constant, Op, Source, unsigned
from harness.emulator.ptx.syntax import Instruction, Pair

PERMUTATIONS = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
_CARRYING = {"add": 2, "sub": 2, "mad": 3}


class IntegerDecoder(OperandReader):
    """Decodes instructions that use the condition code, and instructions with two types."""

    def with_carry(
        self, instruction: Instruction, name: str, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """`add.cc`, `addc`, `addc.cc` and so on; the condition code is a predicate register.

        The condition code is the adder's carry; after a subtraction it is set if there is no
        borrow.
        """
        base = name[:3]
        part = [m for m in modifiers if m in ("lo", "hi")]
        count = _CARRYING.get(base, 0)
        if types not in (["u32"], ["s32"], ["u64"], ["s64"]) or not count:
            raise self.unknown()
        if len(part) != (base == "mad") or modifiers not in (part, [*part, "cc"]):
            raise self.unknown()
        kind = unsigned(types[0])
        factor = types[0] if part == ["hi"] else kind
        source_types = ((factor, factor, kind) if base == "mad" else (kind, kind))[:count]
        target, *sources = self.given(instruction, 1 + count)
        code = self.declare("!condition code", "pred")
        carry: Source = code if name.endswith("c") else Constant(int(base == "sub"))
        read = tuple(self.source(s, t) for s, t in zip(sources, source_types, strict=True))
        written = code if "cc" in modifiers else None
        return [
            Op(f"{base}_carry", tuple(part), (self.result(target), written), (kind, "pred"),
               (*read, carry), (*source_types, "pred"), self.site)
        ]  # fmt: skip

    def _op_prmt(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode the modes of `prmt` other than the default, which selects each byte."""
        mode = modifiers[1:] if modifiers[:1] == ["b32"] else []
        if types == ["b32"] and not modifiers:
            mode = []
        elif types or len(mode) != 1 or mode[0] not in PERMUTATIONS:
            raise self.unknown()
        target, *sources = self.given(instruction, 4)
        read = tuple(self.source(s, "u32") for s in sources)
        return [Op("prmt", tuple(mode), (self.result(target),), ("u32",), read, ("u32",) * 3,
                   self.site)]  # fmt: skip

    def _op_lop3(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """`lop3`, optionally with a predicate that is true if any bit is set."""
        combined = modifiers in (["or"], ["and"])
        if types != ["b32"] or (modifiers and not combined):
            raise self.unknown()
        target, *sources = self.given(instruction, 6 if combined else 5)
        read = tuple(self.source(s, "u32") for s in sources[:4])
        if not combined:
            return [Op("lop3", (), (self.result(target),), ("u32",), read, ("u32",) * 4, self.site)]
        if not isinstance(target, Pair):
            raise self.unknown("without a predicate beside its result")
        bits = self.result(target.first) or self.declare("!lop3", "u32")
        ops: list[Op] = []
        other = self.source(sources[4], "pred", ops)
        return [
            *ops,
            Op("lop3", (), (bits,), ("u32",), read, ("u32",) * 4, self.site),
            Op("setp", ("ne", *modifiers), (self.result(target.second),), ("pred",),
               (bits, Constant(0), other), ("u32", "u32", "pred"), self.site),
        ]  # fmt: skip

    def _op_dp4a(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        wanted = 1 if instruction.opcode.startswith("dp2a") else 0
        if len(modifiers) != wanted or not set(modifiers) <= {"lo", "hi"} or len(types) != 2:
            raise self.unknown()
        if not set(types) <= {"u32", "s32"}:
            raise self.unknown()
        kind = "s32" if "s32" in types else "u32"
        target, *sources = self.given(instruction, 4)
        source_types = (types[0], types[1], kind)
        read = tuple(self.source(s, t) for s, t in zip(sources, source_types, strict=True))
        name = instruction.opcode.split(".")[0]
        return [
            Op(name, tuple(modifiers), (self.result(target),), (kind,), read, source_types,
               self.site)
        ]  # fmt: skip

    _op_dp2a = _op_dp4a
