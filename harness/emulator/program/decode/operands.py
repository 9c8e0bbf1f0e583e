"""Resolve an instruction's operands: names, and literals, which become bits of their type."""

from __future__ import annotations

import numpy as np

from harness.emulator.errors import UnknownInstruction
from harness.emulator.program import signatures
from harness.emulator.program.ir import (
    Constant,
    Op,
    Register,
    Site,
    Source,
    Special,
    SymbolAddress,
    is_float,
)
from harness.emulator.ptx.call_graph import function_address
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import (
    TYPE_SIZES,
    Instruction,
    Kernel,
    Module,
    Name,
    Number,
    Operand,
    Sum,
    Variable,
)

_FARTHEST = 1 << 32
_WIDER = ("ld", "ldu", "st", "cvt")
_AXES = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
SPECIALS = {
    *_AXES, "laneid", "warpid", "nwarpid", "lanemask_eq", "lanemask_le", "lanemask_lt",
    "lanemask_ge", "lanemask_gt", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "dynamic_smem_size", "total_smem_size",
    "envreg1", "envreg2",
}  # fmt: skip
SPECIALS |= {
    f"{name}.{axis}"
    for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    for axis in "xyz"
}
SPECIALS |= {"cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"}
# No performance counter is configured, and no graph is launched.
_ALIKE = {"aggr_smem_size": "total_smem_size"}
_FIXED = {"current_graph_exec": 0, **{f"pm{n}": 0 for n in range(8)}}
RESERVED = Variable("!reserved shared memory", "shared", "b8", 1024, 1024)
"""The part of a block's shared memory that the system reserves and clears; cooperative groups use
the part at `%reserved_smem_offset_1`."""
_FIXED["reserved_smem_offset_cap"] = RESERVED.size
_RESERVED_AT = {"begin": 0, "end": RESERVED.size, "0": 0, "1": 512}


def halves_of(name: str) -> tuple[str, str]:
    """The names of the halves of a 128-bit register."""
    return f"{name}!low", f"{name}!high"


def literal_bits(number: Number, type_: str) -> int | None:
    """The bits of a literal in a type; None for a float used as an integer, or the reverse."""
    size = TYPE_SIZES[type_]
    if type_ == "pred":
        return int(number.value != 0)
    if number.bits is not None and number.width == size:
        return number.bits
    if is_float(type_) and size >= 4 and isinstance(number.value, float):
        with np.errstate(all="ignore"):
            return int.from_bytes(np.array(number.value, f"<f{size}").tobytes(), "little")
    if isinstance(number.value, float) or is_float(type_):
        return None
    return number.value & ((1 << 8 * size) - 1)


class OperandReader:
    """Reads the operands of one kernel; remembers its registers and the symbols it uses."""

    def __init__(self, module: Module, kernel: Kernel, variables: dict[str, Variable]) -> None:
        self.module = module
        self.params = {p.name: p for p in kernel.params}
        self.kernel = kernel
        self.variables = variables
        self.registers: dict[str, Register] = {}
        self.symbols: dict[str, Variable] = {}
        self.names: dict[str, str] = {}
        # The offsets of the variables in the frame of the recursive function being decoded.
        self.frame: dict[str, int] = {}
        self.sites: list[Site] = []
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

    def given(self, instruction: Instruction, *counts: int) -> tuple[Operand, ...]:
        """Return an instruction's operands, after checking that their number is one of `counts`."""
        operands = instruction.operands
        if len(operands) not in counts:
            takes = " or ".join(map(str, counts))
            raise self.unknown(f"it takes {takes} operands and has {len(operands)}")
        return operands

    def result_and_sources(self, instruction: Instruction) -> tuple[Operand, tuple[Operand, ...]]:
        """The first operand, and the others."""
        if not instruction.operands:
            raise self.unknown("it has no operands")
        return instruction.operands[0], instruction.operands[1:]

    def declare(self, name: str, type_: str) -> Register:
        if name not in self.registers:
            kind = signatures.storage_type(type_)
            self.registers[name] = Register(len(self.registers), name, kind)
        return self.registers[name]

    def register(self, name: str) -> Register:
        name = self.names.get(name, name)
        if name not in self.registers:
            raise self.unknown(f"`{name}` is not a declared register")
        return self.registers[name]

    def halves(self, operand: Operand) -> tuple[Name, Name]:
        """The two registers that make up a 128-bit register, the lower half first."""
        if not isinstance(operand, Name) or operand.negated:
            raise self.unknown("expected a register")
        name = self.names.get(operand.text, operand.text)
        low, high = (Name(half) for half in halves_of(name))
        if low.text not in self.registers:
            raise self.unknown(f"`{operand.text}` is not a declared register of 128 bits")
        return low, high

    def register_operand(self, operand: Operand, type_: str = "") -> Register:
        """Return the operand as a register, of the given type if there is one."""
        if not isinstance(operand, Name) or operand.negated:
            raise self.unknown("expected a register")
        register = self.register(operand.text)
        if type_:
            self.check_type(register, type_)
        return register

    def label(self, instruction: Instruction, at: int = 0) -> str:
        operand = instruction.operands[at] if at < len(instruction.operands) else None
        if not isinstance(operand, Name) or operand.negated:
            raise self.unknown("expected a label")
        return operand.text

    def check_type(self, register: Register, type_: str) -> None:
        """Reject a register that cannot be an operand of a type, as ptxas does.

        Loads, stores and conversions accept registers wider than their operand. Integer registers
        can hold floats, and float registers integers, only for instructions on plain bits.
        """
        assert self.instruction is not None
        name, *words = self.instruction.opcode.split(".")
        have, want = TYPE_SIZES[register.type], TYPE_SIZES[type_]
        fits = have == want or (have > want and name in _WIDER)
        if "pred" in (register.type, type_):
            fits = register.type == type_
        elif register.type in ("f32", "f64") and not is_float(type_):
            fits &= not {"b8", "b16", "b32", "b64"}.isdisjoint(words)
        if not fits:
            plain = register.name.rpartition(":")[2].partition("@")[0]
            raise self.unknown(f"`{plain}` has type {register.type} where a {type_} belongs")

    def symbol(self, name: str, offset: int) -> SymbolAddress:
        name = self.names.get(name, name)
        if abs(offset) > _FARTHEST:
            raise self.unknown(f"an address {offset} bytes from `{name}`")
        if name in self.variables:
            return SymbolAddress(self.variables[name].space, name, offset)
        if name in self.module.globals:
            variable = self.module.globals[name]
            if variable.extern and variable.space != "shared":
                raise self.unknown(f"`{name}` is defined in another module")
            self.symbols[name] = variable
            return SymbolAddress(variable.space, name, offset)
        if name in self.params:
            return SymbolAddress("param", name, offset)
        if name in self.frame:
            raise self.unknown(f"an address in the frame of a recursive function, `{name}`")
        raise self.unknown(f"`{name}` is declared nowhere")

    def source(self, operand: Operand, type_: str, ops: list[Op] | None = None) -> Source:
        """Read an operand as a type. A negated predicate is computed into `ops` first."""
        if isinstance(operand, Number):
            return Constant(self._bits(operand, type_))
        if isinstance(operand, Sum):
            return self._address_of(operand.base, operand.offset, type_)
        if not isinstance(operand, Name):
            raise self.unknown("an operand of a form that this instruction does not take")
        name = self.names.get(operand.text, operand.text)
        if name in self.registers:
            register = self.register(name)
            if operand.negated:
                if ops is None or type_ != "pred":
                    raise self.unknown(f"the negation of `{operand.text}`")
                temporary = self.declare(f"!{name}", "pred")
                ops.append(
                    Op("not", (), (temporary,), ("pred",), (register,), ("pred",), self.site)
                )
                return temporary
            return register
        if operand.negated:
            raise self.unknown(f"the negation of `{operand.text}`")
        if name.startswith("%"):
            return self._special(name, type_)
        if name == "WARP_SZ":
            return Constant(32)
        if name in self.module.functions:
            return Constant(function_address(self.module, name))
        return self._address_of(name, 0, type_)

    def _special(self, name: str, type_: str) -> Source:
        """A special register, or its value if that is constant."""
        own = _ALIKE.get(name[1:], name[1:])
        reserved = own.removeprefix("reserved_smem_offset_")
        if own not in SPECIALS and own not in _FIXED and reserved not in _RESERVED_AT:
            raise self.unknown(f"special register `{name}`")
        if is_float(type_) or (type_ == "pred") != (own == "is_explicit_cluster"):
            raise self.unknown(f"special register `{name}` where a {type_} belongs")
        if own in _FIXED:
            return Constant(_FIXED[own])
        if reserved in _RESERVED_AT:
            self.variables[RESERVED.name] = RESERVED
            return SymbolAddress("shared", RESERVED.name, _RESERVED_AT[reserved])
        return Special(own)

    def _address_of(self, name: str, offset: int, type_: str) -> SymbolAddress:
        if is_float(type_) or TYPE_SIZES[type_] < 4:
            raise self.unknown(f"the address of `{name}` where a {type_} belongs")
        return self.symbol(name, offset)

    def _bits(self, number: Number, type_: str) -> int:
        bits = literal_bits(number, type_)
        if bits is None:
            raise self.unknown(f"the literal {number.value} where a {type_} belongs")
        return bits

    def result(self, operand: Operand) -> Register | None:
        if isinstance(operand, Name) and operand.text == "_":
            return None
        return self.register_operand(operand)
