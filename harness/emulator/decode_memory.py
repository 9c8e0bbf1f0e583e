"""Loads, stores and atomics to typed operations."""

from __future__ import annotations

from harness.emulator.operands import OperandReader
from harness.emulator.program import Constant, Op, Register, Source, SymbolAddress, unsigned
from harness.emulator.ptx import TYPE_SIZES, Group, Instruction, Memory, Operand

STATE_SPACES = {"global", "shared", "local", "const", "param"}
_ATOMICS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}
_MEMORY_HINTS = {
    "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "sc",
    "cta", "gpu", "sys", "cluster", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz",
}  # fmt: skip


class MemoryDecoder(OperandReader):
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
        if space == "param" and isinstance(where, Memory) and self._is_own_param(where.base):
            return self._load_param(where, made, kind)
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
        if space == "param" and isinstance(where, Memory) and self._is_own_param(where.base):
            return self._store_param(where, values, kind)
        base, offset, address_type = self._address(where)
        read = tuple(self.source(v, kind) for v in values)
        return [
            Op("st", (space,), (), (), (base, offset, *read),
               (address_type, "s64", *(kind,) * count), self.site)
        ]  # fmt: skip

    def _is_own_param(self, name: str) -> bool:
        name = self.names.get(name, name)
        return name in self.variables and self.variables[name].space == "param"

    def _param_register(self, name: str, offset: int, kind: str) -> Register:
        """The part of a call's parameter at an offset, kept as a register."""
        name = f"{self.names.get(name, name)}+{offset}"
        known = self.registers.get(name)
        if known is not None and TYPE_SIZES[known.type] != TYPE_SIZES[kind]:
            raise self.unknown("a call's parameter, read in another width than it was written")
        return self.declare(name, unsigned(kind))

    def _load_param(
        self, where: Memory, results: tuple[Register | None, ...], kind: str
    ) -> list[Op]:
        size, plain = TYPE_SIZES[kind], unsigned(kind)
        out = []
        for i, result in enumerate(results):
            source = self._param_register(where.base, where.offset + i * size, kind)
            out.append(Op("mov", (), (result,), (plain,), (source,), (plain,), self.site))
        return out

    def _store_param(self, where: Memory, values: tuple[Operand, ...], kind: str) -> list[Op]:
        size, plain = TYPE_SIZES[kind], unsigned(kind)
        out = []
        for i, value in enumerate(values):
            result = self._param_register(where.base, where.offset + i * size, kind)
            read = self.source(value, plain)
            out.append(Op("mov", (), (result,), (plain,), (read,), (plain,), self.site))
        return out

    def _op_atom(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        space, others = self._space(modifiers)
        operations = [m for m in others if m in _ATOMICS]
        rest = {m for m in others if m not in operations}
        if len(operations) != 1 or not rest <= _MEMORY_HINTS or len(types) != 1:
            raise self.unknown()
        kind, operation = types[0], operations[0]
        integer = kind in ("b32", "u32", "s32", "b64", "u64", "s64")
        if not integer and not (kind in ("f32", "f64") and operation == "add"):
            raise self.unknown()
        if operation in ("inc", "dec") and kind != "u32":
            raise self.unknown()
        if operation not in ("min", "max"):
            kind = unsigned(kind)
        reduces = instruction.opcode.startswith("red")
        target = () if reduces else (instruction.operands[0],)
        where, *values = instruction.operands[len(target) :]
        base, offset, address_type = self._address(where)
        read = tuple(self.source(v, kind) for v in values)
        made = tuple(self.result(t) for t in target)
        if len(read) != (2 if operation == "cas" else 1):
            raise self.unknown()
        return [
            Op("atom", (space, operation), made, (kind,) * len(made), (base, offset, *read),
               (address_type, "s64", *(kind,) * len(read)), self.site)
        ]  # fmt: skip

    def _op_red(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._op_atom(instruction, modifiers, types)
