"""What the operands of an instruction are: names resolved, literals in the bits of their type."""

from __future__ import annotations

import struct

from harness.emulator import signatures
from harness.emulator.callgraph import function_address
from harness.emulator.errors import UnknownInstruction
from harness.emulator.program import (
    Constant,
    Op,
    Register,
    Site,
    Source,
    Special,
    SymbolAddress,
    is_float,
)
from harness.emulator.ptx import (
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
from harness.emulator.source_lines import user_line

_AXES = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
SPECIALS = {
    *_AXES, "laneid", "warpid", "nwarpid", "lanemask_eq", "lanemask_le", "lanemask_lt",
    "lanemask_ge", "lanemask_gt", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "dynamic_smem_size", "total_smem_size",
    "envreg1", "envreg2",
}  # fmt: skip


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
        # Variables in the frame of the recursive function that is being decoded: their offsets.
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
        if not detail and "cluster" in instruction.opcode:
            detail = "thread block clusters are not supported"
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
        if name in self.frame:
            raise self.unknown(f"an address in the frame of a recursive function, `{name}`")
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
                cluster = ": thread block clusters are not supported" if "cluster" in name else ""
                raise self.unknown(f"special register `{name}`{cluster}")
            return Special(name[1:])
        if name == "WARP_SZ":
            return Constant(32)
        if name in self.module.functions:
            return Constant(function_address(self.module, name))
        return self.symbol(name, 0)

    def _bits(self, number: Number, type_: str) -> int:
        size = TYPE_SIZES[type_]
        if type_ == "pred":
            return int(number.value != 0)
        if number.bits is not None and number.width == size:
            return number.bits
        if is_float(type_) and size >= 4:
            return int.from_bytes(struct.pack("<f" if size == 4 else "<d", number.value), "little")
        if isinstance(number.value, float):
            raise self.unknown("a float literal where an integer belongs")
        return number.value & ((1 << 8 * size) - 1)

    def result(self, operand: Operand) -> Register | None:
        if isinstance(operand, Name) and operand.text == "_":
            return None
        return self.register_operand(operand)
