"""The register rows of the warp machine, and the operations on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.emulator.engine import layout
from harness.emulator.engine.library import Machine
from harness.emulator.memory import grid_workspace
from harness.emulator.memory.address_space import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from harness.emulator.memory.arguments import PARAMETERS
from harness.emulator.program.analysis.access_kinds import tests_mbarriers
from harness.emulator.program.analysis.liveness import unwritten_registers
from harness.emulator.program.ir import (
    Constant,
    Op,
    Program,
    Register,
    Source,
    Special,
    SymbolAddress,
)
from harness.emulator.ptx.syntax import TYPE_SIZES

NOWHERE = -1
_CLOCKS = ("clock", "globaltimer")


def _of_clocks(program: Program) -> frozenset[int]:
    """Return the slots of all registers that may hold a clock's value."""
    return frozenset(
        register.slot
        for block in program.blocks
        for op in block.ops
        if any(isinstance(s, Special) and s.name.startswith(_CLOCKS) for s in op.sources)
        for register in op.registers_written()
    )


class Unsupported(Exception):
    """Raised if the machine lacks an operation that the program uses."""


def lane_bytes(type_: str) -> int:
    return 8 if TYPE_SIZES[type_] == 8 else 4


class _Rows:
    """Allocates space in a warp's registers."""

    def __init__(self) -> None:
        self.bytes = 0

    def new(self, size: int) -> int:
        at = self.bytes
        self.bytes += layout.LANES * size
        return at


class Emitter:
    """The state of an encoder: the rows of registers and constants, and the operations so far."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program, self.machine = program, machine
        self.rows = _Rows()
        self.offsets: dict[int, int] = {}
        may_be_read_first = sorted(program.blocks[0].live_in)
        for slot in may_be_read_first:
            self._place(slot)
        # For each of these registers, a mask records which lanes have written it.
        self.written = {r.slot: self.rows.new(4) for r in program.once(unwritten_registers)}
        self.zeroed_bytes = self.rows.bytes
        for slot in range(len(program.registers)):
            self._place(slot)
        self.constants: dict[Any, int] = {}  # constant → its number
        self.values: list[int] = []
        self.places: list[int] = []
        self.params: list[tuple[int, int, int]] = []
        self.symbols: list[tuple[int, str, int, int]] = []
        self.why_only_judged = ""
        self.specials = [NOWHERE] * len(machine.specials)
        self.trash = self.rows.new(8)
        self.ops: list[tuple[Any, ...]] = []
        self.temporaries: dict[int, list[int]] = {4: [], 8: []}
        self.begin()
        self.param_offsets = program.param_offsets()
        self.wanted: frozenset[int] = frozenset()
        self.site = 0  # of the operation being encoded
        self.takes_clock = False  # whether that operation only copies a clock's value
        self.in_step = program.once(tests_mbarriers)
        self.of_clocks = program.once(_of_clocks)

    def _place(self, slot: int) -> None:
        if slot not in self.offsets:
            self.offsets[slot] = self.rows.new(lane_bytes(self.program.registers[slot].type))

    # --- rows -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Before each operation of the program, free the rows that only the previous one needed."""
        self.after: list[tuple[str, int, int]] = []  # operations that widen its results
        self.taken = dict.fromkeys(self.temporaries, 0)

    def temporary(self, size: int) -> int:
        """Reserve a row whose lanes have this many bytes, until the program's next operation."""
        rows, taken = self.temporaries[size], self.taken[size]
        if taken == len(rows):
            rows.append(self.rows.new(size))
        self.taken[size] += 1
        return rows[taken]

    def constant(self, value: int, size: int) -> int:
        """Return a row that holds a value in every lane."""
        return self._launch_constant(("value", value, size), value, size)

    def _launch_constant(self, key: Any, value: int, size: int) -> int:
        if key not in self.constants:
            self.constants[key] = len(self.values)
            self.values.append(value)
            # Rows start at multiples of 128, so the lowest bit is free to encode the lane width.
            self.places.append(self.rows.new(size) | (size == 8))
        return self.places[self.constants[key]] & ~1

    def param(self, name: str, offset: int, type_: str) -> int:
        at, size = self.param_offsets[name] + offset, TYPE_SIZES[type_]
        row = self._launch_constant(("param", at, type_), 0, lane_bytes(type_))
        entry = (self.constants["param", at, type_], at, size)
        if entry not in self.params:
            self.params.append(entry)
        return row

    def parameters(self) -> int:
        """Return the row that holds the parameters' address, whose low half is zero."""
        return self._symbol_shifted(PARAMETERS, 0, 0, 8)

    def _symbol(self, symbol: SymbolAddress) -> tuple[int, int]:
        """The row of an address, and the size of its lanes in bytes."""
        if symbol.space in ("shared", "local"):
            own = self.program.shared if symbol.space == "shared" else self.program.local
            return self.constant(own[symbol.name] + symbol.offset & (1 << 64) - 1, 8), 8
        name, offset = symbol.name, symbol.offset
        if symbol.space == "param":
            name, offset = PARAMETERS, self.param_offsets[name] + offset
        return self._symbol_shifted(name, offset, 0, 8), 8

    def _symbol_shifted(self, name: str, offset: int, shift: int, size: int) -> int:
        """The row that holds a buffer's address plus an offset, shifted right by `shift` bits."""
        key = ("symbol", name, offset, shift)
        row = self._launch_constant(key, 0, size)
        entry = (self.constants[key], name, offset, shift)
        if entry not in self.symbols:
            self.symbols.append(entry)
        return row

    def _of_the_workspace(self, name: str) -> int:
        self.only_judged("a barrier of the whole grid")
        return self._symbol_shifted(grid_workspace.WORKSPACE, 0, grid_workspace.REGISTERS[name], 4)

    def _clock(self, name: str) -> tuple[int, int]:
        """Emit a read of the clock; return its row, and the size of its lanes in bytes.

        Only the judge has clocks. The fast run may still execute code that waits at mbarriers and
        copies a clock's value without using it.
        """
        if not (self.in_step and self.takes_clock):
            self.only_judged("a clock")
        if name.endswith("_hi"):
            return self.made("clock.hi/4", 4), 4
        size = 8 if name in ("clock64", "globaltimer") else 4
        return self.made(f"clock/{size}", size), size

    def only_judged(self, reason: str) -> None:
        """Record that the program contains an operation that only the judge can execute."""
        self.why_only_judged = self.why_only_judged or reason

    def read(self, source: Source, type_: str) -> int:
        """Return an operand's row, in lanes of the type's width."""
        want = lane_bytes(type_)
        if isinstance(source, Constant):
            if type_ == "pred":
                return self.constant(0xFFFFFFFF if source.bits else 0, 4)
            bits = source.bits & ((1 << 8 * TYPE_SIZES[type_]) - 1)
            return self.constant(bits, want)
        if isinstance(source, Register):
            row, have = self.offsets[source.slot], lane_bytes(source.type)
            if TYPE_SIZES[source.type] < TYPE_SIZES[type_] or (type_ == "pred") != (
                source.type == "pred"
            ):
                raise Unsupported(f"a {source.type} register read as {type_}")
        elif isinstance(source, Special) and source.name.startswith(_CLOCKS):
            row, have = self._clock(source.name)
        elif isinstance(source, Special) and source.name in grid_workspace.REGISTERS:
            row, have = self._of_the_workspace(source.name), 4
        elif isinstance(source, Special):
            if source.name not in self.machine.specials:
                raise Unsupported(f"%{source.name}")
            number = self.machine.specials[source.name]
            if self.specials[number] == NOWHERE:
                self.specials[number] = self.rows.new(4)
            row, have = self.specials[number], 4
        else:
            row, have = self._symbol(source)
        if have == want:
            return row
        narrower = self.temporary(want)
        self.emit("low/8" if have == 8 else "extend/u32", [narrower], [row])
        return narrower

    def result(self, op: Op, number: int = 0, *, optional: bool = False) -> int:
        """The row of a result. If nothing reads the result, any row may be returned or, with
        `optional`, none."""
        register = op.results[number] if number < len(op.results) else None
        if register is None or register.slot not in self.wanted:
            return NOWHERE if optional else self.trash
        return self.offsets[register.slot]

    def widened(self, op: Op, number: int = 0, *, optional: bool = False) -> int:
        """The row for a result whose register may be wider than the result."""
        register = op.results[number] if number < len(op.results) else None
        row = self.result(op, number, optional=optional)
        type_ = op.result_types[number]
        if register is None or row in (self.trash, NOWHERE):
            return row
        have, want = lane_bytes(type_), lane_bytes(register.type)
        if have == want:
            return row
        if have > want:
            raise Unsupported(f"a {type_} result in a {register.type} register")
        narrow = self.temporary(4)
        sign = "s" if type_[0] == "s" else "u"
        self.after.append((f"extend/{sign}32", row, narrow))
        return narrow

    # --- registers that a thread may read before it writes them ---------------------------

    def check_written(self, registers: Iterable[Register], site: int | None) -> None:
        for register in registers:
            if register.slot in self.written:
                self.emit("read written", [], [self.written[register.slot]], site=site or 0)

    def note_written(self, registers: Iterable[Register]) -> None:
        for register in registers:
            if register.slot in self.written:
                self.emit("note written", [self.written[register.slot]], [])

    def check_clock(self, registers: Iterable[Register], site: int | None) -> None:
        if any(register.slot in self.of_clocks for register in registers):
            self.emit("clock used", [], [], site=site or 0)

    # --- operations -----------------------------------------------------------------------

    def emit(
        self, name: str, results: Sequence[int], sources: Sequence[int], *, site: int | None = None,
        width: int = 0, count: int = 0, space: int = 0, kind: int = 0, cost: int = 0,
        wide_base: bool = False, immediate: int = 0,
    ) -> None:  # fmt: skip
        handler = self.machine.operations.get(name)
        if handler is None:
            raise Unsupported(name)
        if len(results) > layout.MAX_RESULTS or len(sources) > layout.MAX_SOURCES:
            raise Unsupported(f"{name} with so many operands")
        padded_results = (*results, *[NOWHERE] * (layout.MAX_RESULTS - len(results)))
        padded_sources = (*sources, *[NOWHERE] * (layout.MAX_SOURCES - len(sources)))
        self.ops.append((
            handler, self.site if site is None else site, width, count, space, kind, cost,
            int(wide_base), immediate, padded_results, padded_sources,
        ))  # fmt: skip

    def sources(self, op: Op) -> list[int]:
        """The rows of all operands."""
        return [self.read(s, t) for s, t in zip(op.sources, op.source_types, strict=True)]

    def made(self, name: str, size: int, *sources: int, immediate: int = 0) -> int:
        """Emit an operation into a temporary row, and return that row."""
        row = self.temporary(size)
        self.emit(name, [row], sources, immediate=immediate)
        return row

    def window(self, space: str) -> tuple[int, int]:
        """The start and the size of a state space within the generic address space."""
        if space == "shared::cluster":
            return SHARED_WINDOW, LOCAL_WINDOW - SHARED_WINDOW
        base = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space)
        return (0, SHARED_WINDOW) if base is None else (base, WINDOW_BYTES)
