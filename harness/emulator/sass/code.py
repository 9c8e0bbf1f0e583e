"""The contents of a cubin: functions and instructions, from the disassembler and the ELF.

These records are purely syntactic: reading a cubin never fails on an instruction that the emulator
cannot execute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from harness.emulator.ptx.syntax import Location
from harness.emulator.remembering import Remembering

INSTRUCTION_BYTES = 16

Kind = Literal[
    "register", "uniform", "predicate", "uniform predicate", "immediate", "constant", "memory",
    "special", "barrier", "name", "descriptor", "hint",
]  # fmt: skip
ZERO = 255
"""The register number of RZ and URZ, which hold 0, and of PT and UPT, which are true."""


@dataclass(frozen=True)
class Operand:
    """One operand as written.

    `number`: the register's or predicate's number; for a constant, its bank; for an immediate
    written as an integer, its value. `bits`: an immediate's 32 bits as encoded in the instruction.
    `base`, `uniform`, `offset`: the address of a constant or memory operand; `uniform` is the
    number of an added uniform register, or the first of a matrix descriptor. `suffixes`: the dotted
    parts after the name.
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
    """One machine instruction. `address` is relative to the start of the function's section."""

    address: int
    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Operand | None
    text: str
    encoding: bytes
    location: Location | None

    @cached_property
    def name(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: its offset among the parameters, and its size. A cubin does not record
    its type."""

    offset: int
    size: int


@dataclass(frozen=True)
class Function(Remembering):
    """A kernel with the functions that it calls, which follow it in its section.

    `parameter_base`: the offset of the parameters in constant bank 0. `registers`: the number per
    thread. `shared_bytes`: the static part, without the driver's reserved part, which ends at
    `shared_start`. `local_bytes`: per thread. `cluster`: the dimensions of its thread block
    clusters in blocks; zeros if only the launch determines them; None without clusters. `entries`:
    symbol → address, for the kernel and the functions that it calls. `banks`: the kernel's own
    constant banks.
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
    cluster: tuple[int, int, int] | None
    entries: Mapping[str, int]
    banks: Mapping[int, bytes]
    remembered: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """The opcodes of its instructions."""
        return frozenset(each.opcode for each in self.instructions)

    @cached_property
    def driver_constants(self) -> frozenset[int]:
        """The byte offsets at which the instructions read constant bank 0, which the driver
        fills."""
        return frozenset(
            operand.offset
            for each in self.instructions for operand in each.operands
            if operand.kind == "constant" and operand.number == 0
        )  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """A `__device__` or `__constant__` variable: its position in its section."""

    name: str
    section: str
    offset: int
    size: int


@dataclass
class MachineCode:
    """A cubin. `banks`: constant bank → bytes, for the module; sections: initial contents.

    `addresses`: variables' addresses in bank 4, as (offset, symbol, addend). `device` holds the
    state that persists between launches.
    """

    name: str
    arch: str
    functions: dict[str, Function]
    banks: dict[int, bytes]
    variables: dict[str, Variable]
    sections: dict[str, bytes]
    addresses: tuple[tuple[int, str, int], ...]
    device: Any = field(default=None, repr=False)
