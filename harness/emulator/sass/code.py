"""What a cubin says: functions and their instructions, as the disassembler and the ELF have them.

These records are purely syntactic: reading a cubin never fails on an instruction that cannot be
executed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from harness.emulator.ptx.syntax import Location

INSTRUCTION_BYTES = 16
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90")
READ = ("sm_90",)
"""Those of which hardware was read: there the counts are the readings."""

Kind = Literal[
    "register", "uniform", "predicate", "uniform predicate", "immediate", "constant", "memory",
    "special", "barrier", "name", "descriptor",
]  # fmt: skip
ZERO = 255
"""The number of RZ and URZ, which hold 0, and of PT and UPT, which are true."""


@dataclass(frozen=True)
class Operand:
    """One operand as written.

    number: of the register or predicate; of a constant its bank; of an immediate its value where
    it is written as an integer. `bits` has an immediate's 32 bits as the instruction encodes them.
    base, uniform, offset: of a constant's or a memory operand's address; `uniform` is the number of
    a uniform register that is added, or the first of a matrix descriptor. suffixes: what follows
    the name behind dots.
    """

    kind: Kind
    text: str
    number: int = 0
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    suffixes: tuple[str, ...] = ()
    base: Operand | None = None
    uniform: Operand | None = None
    offset: int = 0
    bits: int = 0


@dataclass(frozen=True)
class Instruction:
    """One machine instruction. `address` counts from the start of the function's section."""

    address: int
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Operand | None
    text: str
    encoding: bytes
    location: Location | None

    @property
    def name(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: where it is among the parameters, and its bytes. It has no type."""

    offset: int
    size: int


@dataclass(frozen=True)
class Function:
    """A kernel with the functions that it calls, which stand behind it in its section.

    parameter_base: where the parameters begin in constant bank 0. registers: of a thread.
    shared_bytes: static, without what the driver reserves, behind which, at shared_start, they
    begin. local_bytes: of a thread.
    entries: symbol → address, of the kernel and of the functions that it calls. banks: constant
    banks that it does not share.
    """

    name: str
    instructions: tuple[Instruction, ...]
    parameters: tuple[Parameter, ...]
    parameter_base: int
    registers: int
    shared_bytes: int
    shared_start: int
    local_bytes: int
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    entries: Mapping[str, int]
    banks: Mapping[int, bytes]


@dataclass(frozen=True)
class Variable:
    """A `__device__` or `__constant__` variable: where it is in its section."""

    name: str
    section: str
    offset: int
    size: int


@dataclass
class MachineCode:
    """A cubin. banks: constant bank → bytes, of the module; sections: initial contents.

    addresses: in bank 4, at an offset the address of a variable: (offset, symbol, addend).
    `device` holds what outlives a launch.
    """

    name: str
    arch: str
    functions: dict[str, Function]
    banks: dict[int, bytes]
    variables: dict[str, Variable]
    sections: dict[str, bytes]
    addresses: tuple[tuple[int, str, int], ...]
    device: Any = field(default=None, repr=False)
