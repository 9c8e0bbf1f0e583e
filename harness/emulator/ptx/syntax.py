"""The syntax of a PTX file, before interpretation.

These records are purely syntactic: an instruction is its opcode and its operands as written, so
reading a file never fails on an instruction that this emulator cannot execute. Code that only packs
kernel arguments can read a file just as well as code that executes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

TYPE_SIZES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2,
    "b32": 4, "u32": 4, "s32": 4, "f32": 4, "tf32": 4, "f16x2": 4, "bf16x2": 4,
    "u16x2": 4, "s16x2": 4, "e4m3x2": 2, "e5m2x2": 2,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "f32x2": 8, "b128": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Location:
    """A line of CUDA source. `inlined_at` is the call that the line was inlined into, if any."""

    file: str
    line: int
    inlined_at: Location | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Name:
    """A register, symbol, label or special register; `negated` for `!%p1`."""

    text: str
    negated: bool = False


@dataclass(frozen=True)
class Negative:
    """`-a`, for an `a` that is not a literal."""

    operand: Operand


@dataclass(frozen=True)
class Number:
    """A literal. `bits` is set where the text gives the bits of a float (`0f3F800000`)."""

    value: int | float
    bits: int | None = None
    width: int = 0


@dataclass(frozen=True)
class Memory:
    """`[base + offset]`; the base is a register, a symbol, or empty for an absolute address.

    `more` are the coordinates and modes that textures and tensors take in the same brackets.
    """

    base: str
    offset: int
    more: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Sum:
    """`symbol + offset` as an operand of mov."""

    base: str
    offset: int


@dataclass(frozen=True)
class Group:
    """`{a, b}` in a vector access, or `(a, b)` in a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """`%r1|%p1`: a result together with a predicate."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Masked:
    """`0xFF00(symbol)`: those bits of an address, in the initial value of a packed struct."""

    mask: int
    operand: Operand


Operand = Name | Negative | Number | Memory | Sum | Group | Pair | Masked


@dataclass(frozen=True)
class Instruction:
    """One statement of a body, as written."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Name | None
    ptx_line: int
    location: Location | None


@dataclass(frozen=True)
class Label:
    name: str


@dataclass(frozen=True)
class Param:
    """A parameter. `type` is the PTX type (`u64`, `f32`, …); arrays have type `b8`."""

    name: str
    type: str
    size: int
    align: int
    is_array: bool = False


@dataclass(frozen=True)
class Variable:
    """A variable of any state space; `size` 0 is the extern array of dynamic shared memory."""

    name: str
    space: str
    type: str
    size: int
    align: int
    initial: tuple[Operand, ...] = ()
    extern: bool = False


@dataclass
class Function:
    """A `.func` or `.entry` with its body as written; `body` is None for a declaration."""

    name: str
    params: tuple[Param, ...]
    returns: tuple[Param, ...] = ()
    body: list[Instruction | Label] | None = None
    registers: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    target: str = ""
    shared_bytes: int = 0


class Kernel(Function):
    """A `.entry`. `shared_bytes` is its static shared memory, module-level variables included."""


@dataclass
class Module:
    """One PTX file. `device` holds the state that persists between launches: the contents of its
    global variables.
    """

    kernels: dict[str, Kernel]
    functions: dict[str, Function]
    globals: dict[str, Variable]
    target: str
    version: str
    device: Any = None


def names_of(operands: Iterable[Operand]) -> list[str]:
    """Every register, symbol and label named by operands."""
    out, todo = [], list(operands)
    while todo:
        operand = todo.pop()
        if isinstance(operand, Name):
            out.append(operand.text)
        elif isinstance(operand, (Memory, Sum)):
            out.append(operand.base)
            todo.extend(operand.more if isinstance(operand, Memory) else ())
        elif isinstance(operand, Group):
            todo.extend(operand.items)
        elif isinstance(operand, Pair):
            todo.extend((operand.first, operand.second))
        elif isinstance(operand, Masked):
            todo.append(operand.operand)
    return out


def names_in(statement: Instruction | Label) -> list[str]:
    """Every register, symbol and label named by a statement, including its guard."""
    if isinstance(statement, Label):
        return []
    guard = (statement.guard,) if statement.guard is not None else ()
    return names_of((*statement.operands, *guard))
