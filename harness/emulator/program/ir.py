"""A kernel as typed operations in basic blocks: what to compute, not how.

This is the form between PTX and anything that executes it. Names are resolved, every operand has a
type, calls have become jumps and guards branches. Nothing here depends on NumPy, so a code
generator for another language can use the same program.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.emulator.ptx.syntax import TYPE_SIZES, Location, Param, Variable
from harness.emulator.remembering import Remembering

UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def is_float(type_: str) -> bool:
    return type_ in ("f16", "f32", "f64")  # bf16 has no NumPy type and is kept as its bits


def unsigned(type_: str) -> str:
    """The unsigned integer type of the same size; predicates and floats are unchanged."""
    return type_ if type_ == "pred" or is_float(type_) else UNSIGNED[TYPE_SIZES[type_]]


@dataclass(frozen=True)
class Register:
    """A virtual register; `slot` numbers the registers of a program from 0."""

    slot: int
    name: str
    type: str


@dataclass(frozen=True)
class Constant:
    """A literal: `bits` are its bits in the type of its operand."""

    bits: int


@dataclass(frozen=True)
class Special:
    """A special register such as `tid.x`."""

    name: str


@dataclass(frozen=True)
class SymbolAddress:
    """The address of a variable in its own state space, plus an offset."""

    space: str
    name: str
    offset: int = 0


Source = Register | Constant | Special | SymbolAddress


@dataclass(frozen=True)
class Op:
    """One operation, derived from one PTX instruction.

    `name` is the meaning (`add`, `mul_wide`, `ld`, …); `variant` is any further distinction
    (comparison, rounding, state space, atomic operation, …). `sources[i]` is read as
    `source_types[i]`; `results[i]` is written as `result_types[i]`, or None if discarded.
    """

    name: str
    variant: tuple[str, ...]
    results: tuple[Register | None, ...]
    result_types: tuple[str, ...]
    sources: tuple[Source, ...]
    source_types: tuple[str, ...]
    site: int

    @property
    def type(self) -> str:
        """The type of the first result, or else of the first source."""
        return (self.result_types or self.source_types)[0]

    def registers_read(self) -> list[Register]:
        return [s for s in self.sources if isinstance(s, Register)]

    def registers_written(self) -> list[Register]:
        return [r for r in self.results if r is not None]


@dataclass(frozen=True)
class Site:
    """The origin of an operation: one PTX instruction of the kernel as executed."""

    opcode: str
    ptx_line: int
    location: Location | None


@dataclass(frozen=True)
class Jump:
    """Continue at `target`; counts as an instruction if `site` is set (`bra`)."""

    target: int
    site: int | None = None


@dataclass(frozen=True)
class Branch:
    """Send lanes whose predicate is `taken_if` to `target`, the others to `otherwise`.

    `guards` is set if the branch implements the guard of the instruction at `target`: the lanes
    that skip it have issued it with its predicate off.
    """

    predicate: Register
    taken_if: bool
    target: int
    otherwise: int
    site: int
    guards: bool = False


@dataclass(frozen=True)
class Switch:
    """`brx.idx`: send each lane to `targets[index]`; or, for a call through `pointer`, with one
    target per function."""

    index: Register
    targets: tuple[int, ...]
    site: int
    pointer: Register | None = None


@dataclass(frozen=True)
class Barrier:
    """Wait for the block's threads (or `count` of them) at barrier `number`; continue at `target`.

    With `arrives` (bar.arrive), lanes are counted and continue at once. `reduction` is `popc`,
    `and` or `or` for bar.red, which reduces `predicate` into `result`. `of_cluster`: wait until all
    threads of the cluster have arrived.
    """

    number: Source
    count: Source | None
    target: int
    site: int
    reduction: str = ""
    predicate: Register | None = None
    result: Register | None = None
    arrives: bool = False
    of_cluster: bool = False


@dataclass(frozen=True)
class Exit:
    site: int


@dataclass(frozen=True)
class Trap:
    site: int
    reason: str = "the kernel executed trap"


Terminator = Jump | Branch | Switch | Barrier | Exit | Trap


@dataclass
class Block:
    """Operations that execute together. `sites` are counted each time the block is executed.

    `guarded_site` is an instruction that was already counted by the branch that implements its
    guard, before this block.
    """

    ops: list[Op]
    terminator: Terminator
    sites: list[int] = field(default_factory=list)
    guarded_site: int | None = None
    live_in: frozenset[int] = frozenset()
    live_out: frozenset[int] = frozenset()

    @property
    def first_site(self) -> int:
        """The instruction that messages use to identify the block."""
        return self.sites[0] if self.sites else getattr(self.terminator, "site", 0) or 0


@dataclass
class Program(Remembering):
    """A kernel that is ready to be executed, or to be compiled into other code. Its blocks are
    ordered so that diverged lanes reconverge."""

    kernel: str
    params: tuple[Param, ...]
    registers: tuple[Register, ...]
    blocks: list[Block]
    sites: tuple[Site, ...]
    shared: dict[str, int]
    shared_static: int
    local: dict[str, int]
    local_bytes: int
    symbols: tuple[Variable, ...]
    remembered: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def param_offsets(self) -> dict[str, int]:
        """The offset of each parameter within the bytes of all parameters."""
        offsets, total = {}, 0
        for param in self.params:
            total = -(-total // param.align) * param.align
            offsets[param.name] = total
            total += param.size
        return offsets


def successors(terminator: Terminator) -> tuple[int, ...]:
    """The possible successor blocks."""
    if isinstance(terminator, (Jump, Barrier)):
        return (terminator.target,)
    if isinstance(terminator, Branch):
        return (terminator.target, terminator.otherwise)
    if isinstance(terminator, Switch):
        return tuple(dict.fromkeys(terminator.targets))
    return ()


def terminator_reads(terminator: Terminator) -> list[Register]:
    """Registers that a terminator reads."""
    if isinstance(terminator, Branch):
        return [terminator.predicate]
    if isinstance(terminator, Switch):
        return [r for r in (terminator.index, terminator.pointer) if r is not None]
    if isinstance(terminator, Barrier):
        operands = (terminator.number, terminator.count, terminator.predicate)
        return [r for r in operands if isinstance(r, Register)]
    return []


HALVES = ("f16", "f16x2", "bf16", "bf16x2")
FP8_PAIRS = ("e4m3x2", "e5m2x2")


def element(type_: str) -> str:
    """The format of one half of a possibly packed type."""
    return type_.removesuffix("x2")


@dataclass(frozen=True)
class Mark:
    """A jump target."""

    label: str


@dataclass(frozen=True)
class To:
    """A terminator whose targets are still labels; block numbers are filled in later."""

    terminator: Any
    labels: tuple[str, ...] = ()
    guarded: int | None = None


Entry = Mark | To | tuple[Op, int | None]
"""An entry of a kernel's linear code, before it is split into basic blocks."""
