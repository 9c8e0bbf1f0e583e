"""Decode loads, stores and atomics into typed operations."""

from __future__ import annotations

from harness.emulator.program.decode.calls import CallDecoder
from harness.emulator.program.ir import (
    HALVES,
    Constant,
    Op,
    Register,
    Source,
    SymbolAddress,
    unsigned,
)
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Group,
    Instruction,
    Memory,
    Name,
    Number,
    Operand,
)

LINE_BYTES = 128
"""The number of bytes that `discard` and `applypriority` specify."""
STATE_SPACES = {"global", "shared", "local", "const", "param"}
_PARTS_OF_SPACES = {"", "cta", "cluster", "entry", "func"}
_WORDS = ("b32", "b64")
_NUMBERS = ("u32", "s32", "u64", "s64")
_ATOMICS = {
    "add": ("u32", "s32", "u64", "f32", "f64", *HALVES), "min": (*_NUMBERS, *HALVES),
    "max": (*_NUMBERS, *HALVES),
    "and": _WORDS, "or": _WORDS, "xor": _WORDS, "exch": _WORDS, "cas": ("b16", *_WORDS),
    "inc": ("u32",), "dec": ("u32",),
}  # fmt: skip
_SCOPES = {"cta", "cluster", "gpu", "sys"}
_ORDERS = {
    "ld": {"weak", "volatile", "relaxed", "acquire"},
    "st": {"weak", "volatile", "relaxed", "release"},
    "atom": {"relaxed", "acquire", "release", "acq_rel"},
    "red": {"relaxed", "release"},
}
_SCOPED = {"relaxed", "acquire", "release", "acq_rel"}
_CACHING = {
    "ld": {"ca", "cg", "cs", "lu", "cv"}, "st": {"wb", "cg", "cs", "wt"}, "atom": set(),
    "red": set(),
}  # fmt: skip


class MemoryDecoder(CallDecoder):
    """The instructions that access memory."""

    def _space(self, modifiers: list[str]) -> tuple[str, list[str]]:
        """State space of a memory instruction, "" if generic, and its other modifiers."""
        spaces = [m for m in modifiers if m.partition("::")[0] in STATE_SPACES]
        others = [m for m in modifiers if m not in spaces]
        if len(spaces) > 1 or not {m.partition("::")[2] for m in spaces} <= _PARTS_OF_SPACES:
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
            if register.type in ("pred", "f32", "f64"):
                raise self.unknown(f"an address in a register of type {register.type}")
            return register, offset, unsigned(register.type)
        return self.symbol(name, operand.offset), Constant(0), "u64"

    def _place(self, space: str, operand: Operand) -> tuple[Source, Constant, str]:
        """The address of an access to a state space; a variable has to be in that space."""
        base, offset, kind = self._address(operand)
        if isinstance(base, SymbolAddress) and base.space != (space or "global"):
            raise self.unknown(f"`{base.name}` is in {base.space} memory")
        if space == "param" and not isinstance(base, SymbolAddress):
            raise self.unknown("a parameter that is not named")
        return base, offset, kind

    def _check_hints(self, name: str, hints: list[str]) -> None:
        """Reject an invalid combination of order, scope and caching.

        All valid combinations are executed in the same way: memory is consistent after every
        instruction.
        """
        orders = [h for h in hints if h in _ORDERS[name]]
        scopes = [h for h in hints if h in _SCOPES]
        caching = [h for h in hints if h in _CACHING[name]]
        if len(orders) + len(scopes) + len(caching) < len(hints) or len(caching) > 1:
            raise self.unknown()
        if len(orders) > 1 or len(scopes) > 1 or (caching and orders not in ([], ["weak"])):
            raise self.unknown()
        # By default an atomic is relaxed, with device scope.
        scoped = bool(_SCOPED.intersection(orders))
        if bool(scopes) != scoped and name not in ("atom", "red"):
            raise self.unknown()

    def _access(self, name: str, modifiers: list[str], types: list[str]) -> tuple[str, int, str]:
        if types == ["b128"]:
            modifiers, types = self._in_halves(modifiers)
        space, others = self._space(modifiers)
        width = [m for m in others if m in ("v2", "v4", "v8")]
        others = [m for m in others if m not in width]
        prefetches = [m for m in others if m.startswith(("L1::", "L2::")) and "cache_hint" not in m]
        if name == "ld" and space == "global" and "nc" in others:
            others.remove("nc")
        if "mmio" in others and {"relaxed", "sys"} <= set(others):
            others.remove("mmio")
        self._check_hints(name, [m for m in others if m not in prefetches])
        if len(types) != 1 or len(width) > 1:
            raise self.unknown()
        count = int(width[0][1:]) if width else 1
        size = TYPE_SIZES[types[0]]
        # For sm_100 and later, global memory has 256-bit accesses, in words of 32 or 64 bits.
        is_256_bits = size * count == 32 and size >= 4 and space in ("", "global")
        if (size * count > 16 and not is_256_bits) or types[0] == "pred":
            raise self.unknown()
        return space, count, types[0]

    def _op_ld(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        space, count, kind = self._access("ld", modifiers, types)
        target, where = self.given(instruction, 2)
        results = self._values(target, instruction)
        if len(results) != count:
            raise self.unknown()
        made = tuple(self.result(r) for r in results)
        space = self._own_space(space, where)
        if space == "param" and isinstance(where, Memory) and self.is_own_param(where.base):
            return self.load_param(where, made, kind)
        if space == "param" and isinstance(where, Memory) and where.base in self.registers:
            space = "const"  # an address in the kernel's parameters, which are loaded as constants
            if self.register(where.base).type[1:] == "32":
                return self._load_short(where, made, kind, count)
        base, offset, address_type = self._place(space, where)
        if isinstance(base, SymbolAddress) and base.space == "param":
            self.inside(self.params[base.name], base.offset, count * TYPE_SIZES[kind])
            read: tuple[Source, ...] = (Constant(base.offset),)
            return [Op("param", (base.name,), made, (kind,) * count, read, ("u64",), self.site)]
        return [
            Op("ld", (space,), made, (kind,) * count, (base, offset), (address_type, "s64"),
               self.site)
        ]  # fmt: skip

    def _load_short(
        self, where: Memory, made: tuple[Register | None, ...], kind: str, count: int
    ) -> list[Op]:
        """Load from the kernel's parameters, at an address of which only 32 bits are given."""
        base, offset, address_type = self._address(where)
        wide = self.declare("!address in the parameters", "u64")
        return [
            Op("cvt", (), (wide,), ("u64",), (base,), (address_type,), self.site),
            Op("cvta", ("from", "param"), (wide,), ("u64",), (wide,), ("u64",), self.site),
            Op("ld", ("const",), made, (kind,) * count, (wide, offset), ("u64", "s64"), self.site),
        ]  # fmt: skip

    def _op_ldu(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._op_ld(instruction, modifiers, types)

    def _in_halves(self, modifiers: list[str]) -> tuple[list[str], list[str]]:
        """Split a 128-bit access into a vector access."""
        if not {"v2", "v4", "v8"}.isdisjoint(modifiers):
            raise self.unknown()
        return [*modifiers, "v2"], ["b64"]

    def _values(self, operand: Operand, instruction: Instruction) -> tuple[Operand, ...]:
        """The values of an access: a register, a vector of them, or the halves of a wide one."""
        if isinstance(operand, Group):
            return operand.items
        return self.halves(operand) if instruction.opcode.endswith(".b128") else (operand,)

    def _op_st(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        space, count, kind = self._access("st", modifiers, types)
        where, value = self.given(instruction, 2)
        values = self._values(value, instruction)
        if len(values) != count:
            raise self.unknown()
        space = self._own_space(space, where)
        if space == "param" and isinstance(where, Memory) and self.is_own_param(where.base):
            return self.store_param(where, values, kind)
        if space in ("param", "const"):
            raise self.unknown(f"{space} memory cannot be written")
        base, offset, address_type = self._place(space, where)
        read = tuple(self.source(v, kind) for v in values)
        return [
            Op("st", (space,), (), (), (base, offset, *read),
               (address_type, "s64", *(kind,) * count), self.site)
        ]  # fmt: skip

    def _own_space(self, space: str, where: Operand) -> str:
        """The state space of an access; it may be implied by the variable that the access names.

        A struct that is passed to a function, or returned by it, is in local memory.
        """
        if not isinstance(where, Memory):
            return space
        name = self.names.get(where.base, where.base)
        known = self.variables.get(name, self.module.globals.get(name))
        if space == "param" and (name in self.frame or (known and known.space == "local")):
            return "local"
        return known.space if known and space == "" else space

    def _op_atom(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        space, others = self._space(modifiers)
        operations = [m for m in others if m in _ATOMICS]
        width = [m for m in others if m in ("v2", "v4", "v8")]
        rest = [m for m in others if m not in (*operations, *width)]
        if len(operations) != 1 or len(types) != 1 or len(width) > 1:
            raise self.unknown()
        reduces = instruction.opcode.startswith("red")
        if types[0] in HALVES:
            if rest[-1:] != ["noftz"]:
                raise self.unknown("without .noftz")
            rest.pop()
        self._check_hints("red" if reduces else "atom", rest)
        if space not in ("", "global", "shared"):
            raise self.unknown(f"there are no atomics on {space} memory")
        kind, operation = types[0], operations[0]
        if kind == "b128" and operation in ("exch", "cas") and not (width or reduces):
            return self._atom_128(instruction, space, operation)
        if kind not in _ATOMICS[operation] or (reduces and operation in ("exch", "cas")):
            raise self.unknown()
        if width:
            self._check_vector(space, kind, int(width[0][1:]))
        if kind in HALVES:
            if operation != "add" and not width:
                raise self.unknown("without a vector")
            operation, kind = f"{operation}.{kind}", "u32" if kind.endswith("x2") else "u16"
        elif operation not in ("min", "max"):
            kind = unsigned(kind)
        values_taken = 2 if operation == "cas" else 1
        operands = self.given(instruction, values_taken + (1 if reduces else 2))
        target = () if reduces else operands[:1]
        where, *values = operands[len(target) :]
        space = self._own_space(space, where)
        base, offset, address_type = self._place(space, where)
        if not width:
            read = tuple(self.source(v, kind) for v in values)
            made = tuple(self.result(t) for t in target)
            return [
                Op("atom", (space, operation), made, (kind,) * len(made), (base, offset, *read),
                   (address_type, "s64", *(kind,) * len(read)), self.site)
            ]  # fmt: skip
        parts = [o.items for o in (*target, *values) if isinstance(o, Group)]
        if len(parts) != len(target) + 1 or {len(p) for p in parts} != {int(width[0][1:])}:
            raise self.unknown()
        return self._each_of_vector(space, operation, kind, (base, offset, address_type), parts)

    def _each_of_vector(
        self, space: str, operation: str, kind: str, place: tuple[Source, Constant, str],
        parts: list[tuple[Operand, ...]],
    ) -> list[Op]:  # fmt: skip
        """Decode an atomic on a vector. Every element is an atomic of its own, as in the manual;
        only the first is counted, on behalf of all. `parts`: the results, if there are any, and the
        values."""
        base, offset, address_type = place
        out = []
        for i, element in enumerate(zip(*parts, strict=True)):
            at = Constant((offset.bits + i * TYPE_SIZES[kind]) & ((1 << 64) - 1))
            made = tuple(self.result(r) for r in element[:-1])
            counts_for = "0" if i else str(len(parts[0]))
            out.append(Op("atom", (space, operation, counts_for), made, (kind,) * len(made),
                          (base, at, self.source(element[-1], kind)),
                          (address_type, "s64", kind), self.site))  # fmt: skip
        return out

    def _check_vector(self, space: str, kind: str, count: int) -> None:
        """Reject a vector that ptxas rejects because it is not in global memory, holds integers, or
        is too wide."""
        if space not in ("", "global") or kind not in ("f32", *HALVES):
            raise self.unknown("a vector")
        if count * TYPE_SIZES[kind] > 16:
            raise self.unknown("a vector of more than 16 bytes")

    def _atom_128(self, instruction: Instruction, space: str, operation: str) -> list[Op]:
        """A 128-bit atomic, whose operands are pairs of registers."""
        operands = self.given(instruction, 3 if operation == "exch" else 4)
        target, where, *values = operands
        base, offset, address_type = self._place(self._own_space(space, where), where)
        if isinstance(target, Name) and target.text == "_":
            made: tuple[Register | None, ...] = (None, None)
        else:
            made = tuple(self.result(half) for half in self.halves(target))
        read = tuple(self.source(half, "u64") for value in values for half in self.halves(value))
        return [
            Op("atom", (space, operation), made, ("u64", "u64"), (base, offset, *read),
               (address_type, "s64", *("u64",) * len(read)), self.site)
        ]  # fmt: skip

    def _op_discard(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode `discard`, which leaves a line of global memory undefined."""
        space, where = self._line_of_cache(instruction, modifiers, "L2")
        base, offset, address_type = self._place(space, where)
        return [Op("discard", (space,), (), (), (base, offset), (address_type, "s64"), self.site)]

    def _op_applypriority(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        """Decode a cache hint, which changes no value."""
        self._line_of_cache(instruction, modifiers, "L2::evict_normal")
        return [Op("fence", ("",), (), (), (), (), self.site)]

    def _line_of_cache(
        self, instruction: Instruction, modifiers: list[str], level: str
    ) -> tuple[str, Operand]:
        """The state space and the address of a cache line; only global memory has cache lines."""
        space, others = self._space(modifiers)
        where, size = self.given(instruction, 2)
        has_size = isinstance(size, Number) and size.value == LINE_BYTES
        if others != [level] or space not in ("", "global") or not has_size:
            raise self.unknown()
        return space, where

    def _op_red(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        return self._op_atom(instruction, modifiers, types)
