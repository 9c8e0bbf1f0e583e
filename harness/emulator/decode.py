"""One PTX instruction to typed operations.

Checks every modifier against what is known and gives every operand its type. Loads, stores,
atomics, warp-wide instructions and conversions each have their own reader here; whatever computes
from registers alone goes by the table in `signatures`.
"""

from __future__ import annotations

import struct

from harness.emulator import signatures
from harness.emulator.errors import UnknownInstruction
from harness.emulator.program import (
    Barrier,
    Constant,
    Op,
    Register,
    Source,
    Special,
    SymbolAddress,
    is_float,
    unsigned,
)
from harness.emulator.ptx import (
    TYPE_SIZES,
    Group,
    Instruction,
    Kernel,
    Memory,
    Module,
    Name,
    Number,
    Operand,
    Pair,
    Sum,
    Variable,
)
from harness.emulator.source_lines import user_line

_SPACES = {"global", "shared", "local", "const", "param"}
_ATOMICS = set(["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"])
_MEMORY_HINTS = {
    "nc", "volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "sc",
    "cta", "gpu", "sys", "cluster", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz",
}  # fmt: skip
_AXES = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
SPECIALS = {
    *_AXES, "laneid", "warpid", "nwarpid", "lanemask_eq", "lanemask_le", "lanemask_lt",
    "lanemask_ge", "lanemask_gt", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "dynamic_smem_size", "total_smem_size",
}  # fmt: skip


class Decoder:
    """Decodes the instructions of one kernel; remembers its registers and the symbols it uses."""

    def __init__(self, module: Module, kernel: Kernel, variables: dict[str, Variable]) -> None:
        self.module = module
        self.params = {p.name: p for p in kernel.params}
        self.kernel = kernel
        self.variables = variables
        self.registers: dict[str, Register] = {}
        self.symbols: dict[str, Variable] = {}
        self.names: dict[str, str] = {}
        self.site = 0
        self.instruction: Instruction | None = None

    # --- names ----------------------------------------------------------------------------

    def begin(self, instruction: Instruction, names: dict[str, str], site: int) -> None:
        self.instruction, self.names, self.site = instruction, names, site

    def unknown(self, detail: str = "") -> UnknownInstruction:
        instruction = self.instruction
        assert instruction is not None
        where = user_line(instruction.location)
        place = f"{where}, kernel {self.kernel.name}" if where else f"kernel {self.kernel.name}"
        return UnknownInstruction(instruction.opcode, place, instruction.ptx_line, detail)

    def declare(self, name: str, type_: str) -> Register:
        if name not in self.registers:
            kind = signatures.storage_type(type_)
            if TYPE_SIZES[type_] > 8:
                # nvcc declares 128-bit registers only for atomics on 16 bytes
                kind = "b128"
            self.registers[name] = Register(len(self.registers), name, kind)
        return self.registers[name]

    def register(self, name: str) -> Register:
        name = self.names.get(name, name)
        if name not in self.registers:
            raise self.unknown(f"`{name}` is not a declared register")
        register = self.registers[name]
        if register.type == "b128":
            raise self.unknown("128-bit registers")
        return register

    def register_operand(self, operand: Operand) -> Register:
        if not isinstance(operand, Name):
            raise self.unknown("expected a register")
        return self.register(operand.text)

    def label(self, operand: Operand) -> str:
        if not isinstance(operand, Name):
            raise self.unknown("expected a label")
        return operand.text

    def symbol(self, name: str, offset: int) -> SymbolAddress:
        name = self.names.get(name, name)
        if name in self.variables:
            return SymbolAddress(self.variables[name].space, name, offset)
        if name in self.module.globals:
            variable = self.module.globals[name]
            self.symbols[name] = variable
            return SymbolAddress(variable.space, name, offset)
        if name in self.params:
            return SymbolAddress("param", name, offset)
        raise self.unknown(f"`{name}` is declared nowhere")

    def source(self, operand: Operand, type_: str, ops: list[Op] | None = None) -> Source:
        """An operand to be read as a type. A negated predicate is computed into `ops` first."""
        if isinstance(operand, Number):
            return Constant(self._bits(operand, type_))
        if isinstance(operand, Sum):
            return self.symbol(operand.base, operand.offset)
        if not isinstance(operand, Name):
            raise self.unknown("an operand of a form that this instruction does not take")
        name = self.names.get(operand.text, operand.text)
        if name in self.registers:
            register = self.register(name)
            if operand.negated:
                assert ops is not None
                temporary = self.declare(f"!{name}", "pred")
                ops.append(
                    Op("not", (), (temporary,), ("pred",), (register,), ("pred",), self.site)
                )
                return temporary
            return register
        if name.startswith("%"):
            if name[1:] not in SPECIALS:
                raise self.unknown(f"special register `{name}`")
            return Special(name[1:])
        if name == "WARP_SZ":
            return Constant(32)
        return self.symbol(name, 0)

    def _bits(self, number: Number, type_: str) -> int:
        size = TYPE_SIZES[type_]
        if type_ == "pred":
            return int(number.value != 0)
        if number.bits is not None and number.width == size:
            return number.bits
        if is_float(type_):
            return int.from_bytes(struct.pack("<f" if size == 4 else "<d", number.value), "little")
        if isinstance(number.value, float):
            raise self.unknown("a float literal where an integer belongs")
        return number.value & ((1 << 8 * size) - 1)

    def result(self, operand: Operand) -> Register | None:
        if isinstance(operand, Name) and operand.text == "_":
            return None
        return self.register_operand(operand)

    # --- instructions ---------------------------------------------------------------------

    def ops(self, instruction: Instruction) -> list[Op]:
        name, modifiers, types = signatures.split_opcode(instruction.opcode)
        reader = getattr(self, f"_op_{name}", None)
        if reader is not None:
            made: list[Op] = reader(instruction, modifiers, types)
            return made
        matched = signatures.match(name, modifiers, types)
        if matched is None:
            raise self.unknown()
        result_types, source_types = matched
        results, *sources = instruction.operands
        if len(sources) != len(source_types):
            raise self.unknown(f"{len(sources)} source operands for {len(source_types)}")
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        ops.append(
            Op(
                name, tuple(sorted(modifiers)), (self.result(results),), result_types, read,
                source_types, self.site,
            )
        )  # fmt: skip
        return ops

    def _op_mov(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if modifiers or len(types) != 1 or types[0] == "b128":
            raise self.unknown()
        kind = unsigned(types[0])
        target, source = instruction.operands
        if isinstance(source, Group):
            part = _fraction(kind, len(source.items))
            sources = tuple(self.source(s, part) for s in source.items)
            return [
                Op("pack", (), (self.result(target),), (kind,), sources, (part,) * len(sources),
                   self.site)
            ]  # fmt: skip
        if isinstance(target, Group):
            part = _fraction(kind, len(target.items))
            results = tuple(self.result(r) for r in target.items)
            return [
                Op("unpack", (), results, (part,) * len(results), (self.source(source, kind),),
                   (kind,), self.site)
            ]  # fmt: skip
        return [
            Op("mov", (), (self.result(target),), (kind,), (self.source(source, kind),), (kind,),
               self.site)
        ]  # fmt: skip

    def _op_cvt(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if len(types) != 2 or not set(types) <= signatures.CONVERSION_TYPES:
            raise self.unknown()
        if not set(modifiers) <= signatures.CONVERSION_MODIFIERS:
            raise self.unknown()
        target, source = instruction.operands
        return [
            Op("cvt", tuple(modifiers), (self.result(target),), (types[0],),
               (self.source(source, types[1]),), (types[1],), self.site)
        ]  # fmt: skip

    def _compare(
        self, instruction: Instruction, modifiers: list[str], type_: str, results: list[Operand],
        result_type: str,
    ) -> list[Op]:  # fmt: skip
        known = set(modifiers) <= signatures.COMPARE_MODIFIERS
        if not known or not modifiers or modifiers[0] not in signatures.COMPARISONS:
            raise self.unknown()
        if type_ not in signatures.COMPARE_TYPES:
            raise self.unknown()
        sources = instruction.operands[1:]
        source_types = (type_, type_, "pred")[: len(sources)]
        ops: list[Op] = []
        read = tuple(self.source(s, t, ops) for s, t in zip(sources, source_types, strict=True))
        made = tuple(self.result(r) for r in results)
        opcode = "setp" if result_type == "pred" else "set"
        kinds = (result_type,) * len(made)
        ops.append(Op(opcode, tuple(modifiers), made, kinds, read, source_types, self.site))
        return ops

    def _op_setp(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(types) != 1:
            raise self.unknown()
        target = instruction.operands[0]
        results = [target.first, target.second] if isinstance(target, Pair) else [target]
        return self._compare(instruction, modifiers, types[0], results, "pred")

    def _op_set(self, instruction: Instruction, modifiers: list[str], types: list[str]) -> list[Op]:
        if len(types) != 2 or types[0] not in ("u32", "s32", "f32"):
            raise self.unknown()
        target = instruction.operands[0]
        return self._compare(instruction, modifiers, types[1], [target], unsigned(types[0]))

    def _op_slct(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(types) != 2 or types[1] not in ("s32", "f32") or not set(modifiers) <= {"ftz"}:
            raise self.unknown()
        kind = unsigned(types[0])
        target, *sources = instruction.operands
        source_types = (kind, kind, types[1])
        read = tuple(self.source(s, t) for s, t in zip(sources, source_types, strict=True))
        return [
            Op("slct", tuple(modifiers), (self.result(target),), (kind,), read, source_types,
               self.site)
        ]  # fmt: skip

    def _op_cvta(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        to = "to" in modifiers
        spaces = [m.partition("::")[0] for m in modifiers if m != "to"]
        if len(spaces) != 1 or spaces[0] not in _SPACES or len(types) != 1:
            raise self.unknown()
        target, source = instruction.operands
        return [
            Op("cvta", ("to" if to else "from", spaces[0]), (self.result(target),), ("u64",),
               (self.source(source, types[0]),), ("u64",), self.site)
        ]  # fmt: skip

    def _op_isspacep(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        if len(modifiers) != 1 or modifiers[0].partition("::")[0] not in _SPACES:
            raise self.unknown()
        target, source = instruction.operands
        return [
            Op("isspacep", (modifiers[0].partition("::")[0],), (self.result(target),), ("pred",),
               (self.source(source, "u64"),), ("u64",), self.site)
        ]  # fmt: skip

    # --- memory ---------------------------------------------------------------------------

    def _space(self, modifiers: list[str]) -> tuple[str, list[str]]:
        """State space of a memory instruction, "" if generic, and its other modifiers."""
        spaces = [m for m in modifiers if m.partition("::")[0] in _SPACES]
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
            return self._move_param(where, made, kind, store=False)
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

    def _move_param(
        self, where: Memory, results: tuple[Register | None, ...], kind: str, *, store: bool
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

    # --- warps and barriers ---------------------------------------------------------------

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

    def barrier(self, instruction: Instruction) -> tuple[list[Op], Barrier]:
        """`bar.sync`, `barrier.sync`, `bar.red`: the operations before it, and the barrier."""
        _, modifiers, types = signatures.split_opcode(instruction.opcode)
        modifiers = [m for m in modifiers if m not in ("cta", "aligned")]
        operands = list(instruction.operands)
        ops: list[Op] = []
        if modifiers == ["sync"] and not types and len(operands) in (1, 2):
            count = self.source(operands[1], "u32") if len(operands) == 2 else None
            number = self.source(operands[0], "u32")
            return ops, Barrier(number, count, -1, self.site)
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


def _fraction(type_: str, parts: int) -> str:
    return f"u{8 * TYPE_SIZES[type_] // parts}"
