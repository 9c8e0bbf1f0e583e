"""Loads, stores and atomics to typed operations."""

from __future__ import annotations

from harness.emulator.decode_calls import CallDecoder
from harness.emulator.half import HALVES
from harness.emulator.program import Constant, Op, Source, SymbolAddress, unsigned
from harness.emulator.ptx import TYPE_SIZES, Group, Instruction, Memory, Operand

STATE_SPACES = {"global", "shared", "local", "const", "param"}
_ATOMICS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}
_MEMORY_HINTS = {
    "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "sc",
    "cta", "gpu", "sys", "cluster", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz",
}  # fmt: skip


class MemoryDecoder(CallDecoder):
    """The instructions that access memory."""

    def _space(self, modifiers: list[str]) -> tuple[str, list[str]]:
        """State space of a memory instruction, "" if generic, and its other modifiers."""
        spaces = [m for m in modifiers if m.partition("::")[0] in STATE_SPACES]
        others = [m for m in modifiers if m not in spaces]
        if len(spaces) > 1 or any(s.endswith("::cluster") for s in spaces):
            raise self.unknown()
        return (spaces[0].partition("::")[0] if spaces else ""), others

    def _address(self, operand: Operand) -> tuple[Source, Constant, str]:
        if not isinstance(operand, Memory):
            raise self.unknown("expected an address in brackets")
        name = self.names.get(operand.base, operand.base)
        offset = Constant(operand.offset & ((1 << 64) - 1))
        if not operand.base:
            return Constant(operand.offset), Constant(0), "u64"
        if name in self.frame:
            return self.declare("!stack", "u64"), Constant(self.frame[name] + operand.offset), "u64"
        if name in self.registers:
            register = self.register(name)
            return register, offset, unsigned(register.type)
        return self.symbol(name, operand.offset), Constant(0), "u64"

    def _access(self, modifiers: list[str], types: list[str]) -> tuple[str, int, str]:
        space, others = self._space(modifiers)
        width = [m for m in others if m in ("v2", "v4", "v8")]
        others = [m for m in others if m not in width]
        hints = [m for m in others if m.startswith(("L1::", "L2::")) and "cache_hint" not in m]
        if not set(others) - set(hints) <= _MEMORY_HINTS or len(types) != 1 or len(width) > 1:
            raise self.unknown()
        count = int(width[0][1:]) if width else 1
        size = TYPE_SIZES[types[0]]
        if size * count > 16 or types[0] in ("pred", "b128"):
            raise self.unknown()
        return space, count, types[0]

    def _op_ld(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        space, count, kind = self._access(modifiers, types)
        target, where = instruction.operands
        results = target.items if isinstance(target, Group) else (target,)
        if len(results) != count:
            raise self.unknown()
        made = tuple(self.result(r) for r in results)
        if space == "param" and isinstance(where, Memory) and self.is_own_param(where.base):
            return self.load_param(where, made, kind)
        space = self._param_space(space, where)
        base, offset, address_type = self._address(where)
        if isinstance(base, SymbolAddress) and base.space == "param":
            read: tuple[Source, ...] = (Constant(base.offset),)
            return [Op("param", (base.name,), made, (kind,) * count, read, ("u64",), self.site)]
        return [
            Op("ld", (space,), made, (kind,) * count, (base, offset), (address_type, "s64"),
               self.site)
        ]  # fmt: skip

    def _op_ldu(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._op_ld(instruction, modifiers, types)

    def _op_st(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        space, count, kind = self._access(modifiers, types)
        where, value = instruction.operands
        values = value.items if isinstance(value, Group) else (value,)
        if len(values) != count:
            raise self.unknown()
        if space == "param" and isinstance(where, Memory) and self.is_own_param(where.base):
            return self.store_param(where, values, kind)
        space = self._param_space(space, where)
        base, offset, address_type = self._address(where)
        read = tuple(self.source(v, kind) for v in values)
        return [
            Op("st", (space,), (), (), (base, offset, *read),
               (address_type, "s64", *(kind,) * count), self.site)
        ]  # fmt: skip

    def _param_space(self, space: str, where: Operand) -> str:
        """A struct that is passed to a function, or returned by it, is in local memory."""
        if space != "param" or not isinstance(where, Memory):
            return space
        name = self.names.get(where.base, where.base)
        return "local" if name in self.frame or name in self.variables else space

    def _op_atom(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        space, others = self._space(modifiers)
        operations = [m for m in others if m in _ATOMICS]
        width = [m for m in others if m in ("v2", "v4", "v8")]
        rest = {m for m in others if m not in (*operations, *width)}
        if len(operations) != 1 or not rest <= _MEMORY_HINTS or len(types) != 1:
            raise self.unknown()
        kind, operation = types[0], operations[0]
        integer = kind in ("b32", "u32", "s32", "b64", "u64", "s64")
        if not integer and not (kind in ("f32", "f64", *HALVES) and operation == "add"):
            short = kind in ("b16", "u16") and operation in ("cas", "exch")
            if not short:
                raise self.unknown()
        if operation in ("inc", "dec") and kind != "u32":
            raise self.unknown()
        if kind in HALVES:
            operation, kind = f"add.{kind}", "u32" if kind.endswith("x2") else "u16"
        elif operation not in ("min", "max"):
            kind = unsigned(kind)
        reduces = instruction.opcode.startswith("red")
        target = () if reduces else (instruction.operands[0],)
        where, *values = instruction.operands[len(target) :]
        base, offset, address_type = self._address(where)
        if not width:
            read = tuple(self.source(v, kind) for v in values)
            made = tuple(self.result(t) for t in target)
            if len(read) != (2 if operation == "cas" else 1):
                raise self.unknown()
            return [
                Op("atom", (space, operation), made, (kind,) * len(made), (base, offset, *read),
                   (address_type, "s64", *(kind,) * len(read)), self.site)
            ]  # fmt: skip
        # Every element is an atomic of its own, as the manual has it.
        out = []
        parts = [o.items for o in (*target, *values) if isinstance(o, Group)]
        if len(parts) != len(target) + 1 or {len(p) for p in parts} != {int(width[0][1:])}:
            raise self.unknown()
        for i, element in enumerate(zip(*parts, strict=True)):
            at = Constant((offset.bits + i * TYPE_SIZES[kind]) & ((1 << 64) - 1))
            made = tuple(self.result(r) for r in element[: len(target)])
            out.append(Op("atom", (space, operation), made, (kind,) * len(made),
                          (base, at, self.source(element[-1], kind)),
                          (address_type, "s64", kind), self.site))  # fmt: skip
        return out

    def _op_red(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._op_atom(instruction, modifiers, types)
