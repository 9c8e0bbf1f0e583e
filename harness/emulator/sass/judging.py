"""The judge's data about machine code: the kind of each access, and the scope of each fence.

The code states the strength and scope of a global access. It does not state which accesses are
volatile, nor which accesses to shared memory are atomic, and only data flow shows how a value is
used. These properties are therefore read from the PTX, by source line. Locks are treated as flags.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.emulator.engine import layout as engine_layout
from harness.emulator.engine.fault_messages.places import Launched, callers, line_in
from harness.emulator.engine.judging import OfLines
from harness.emulator.engine.layout import ATOMIC, BLOCK_ATOMIC, PLAIN
from harness.emulator.memory.shared_variables import SharedVariables, in_code
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Location
from harness.emulator.sass import layout
from harness.emulator.sass.code import Function, Instruction

Array = NDArray[Any]

_LOADS = ("LD", "LDG", "LDS")
_STORES = ("ST", "STG", "STS")
_STRONG = {"STRONG", "MMIO"}
_ATOMICS = ("ATOM", "ATOMG", "ATOMS", "RED", "REDG")
_ACCESSES = (*_LOADS, *_STORES, *_ATOMICS, "LDSM", "LDGSTS")
_EXCHANGES = ("VOTE", "VOTEU", "SHFL", "MATCH", "REDUX")
_LEAVE = (
    "WARPSYNC", "ENDCOLLECTIVE", "BRA", "BRX", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK",
    "BAR", "YIELD",
)  # fmt: skip
_TELL_MBARRIERS = ("SYNCS", "ARRIVES", "STAS", "REDAS", "UTMALDG", "UBLKCP", "UBLKRED")
_TO_GLOBAL = ("UBLKCP.G", "UBLKRED.G")  # these signal completion to groups, not to mbarriers
_COUNT_BYTES = {"A0TR", "A0TX"}
_STALE = "CCTL.IVALL"
_NEXT = 4  # a full wait invalidates caches within this many instructions after it
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}


@dataclass(frozen=True)
class Judged:
    """`kinds`, `traits`, `lines`, `meetings`: one entry per instruction. A line is a number, or -1
    if it is unknown or if the instruction is a barrier that may pair with barriers on other lines.
    A meeting is the index of the vote or shuffle for which lanes wait there, or -1. `grains`:
    the size of the words that are tracked in global and in shared memory, which is the width of the
    narrowest access. `shared`: the variables in shared memory, for messages."""

    kinds: Array
    traits: Array
    lines: Array
    meetings: Array
    grains: tuple[int, int]
    shared: SharedVariables


def judged(function: Function, lines: OfLines) -> Judged:
    """Collect the data for a function. `lines`: facts from the same kernel's PTX."""
    retried = {_line(i.location) for i in function.instructions if "CAST" in i.modifiers} - {None}
    kinds = [_kind(each, lines, retried) for each in function.instructions]
    for number in _first_of_loops(function, lines):
        kinds[number] = ATOMIC
    for number in _waits_for_reading(function):
        kinds[number] = layout.DONE_READING
    traits = [_traits(each, lines) for each in function.instructions]
    places = [
        None if lines.meets_others(each.location) else _line(each.location)
        for each in function.instructions
    ]
    known = list(dict.fromkeys(places))
    numbers = [known.index(place) if place else -1 for place in places]
    return Judged(
        np.array(kinds, np.int32), np.array(traits, np.uint16), np.array(numbers, np.int32),
        np.array(_meetings(function), np.int32), _grains(function),
        in_code(lines.program, function.shared_bytes),
    )  # fmt: skip


def _kind(each: Instruction, lines: OfLines, retried: set[Any]) -> int:
    if each.opcode == "MEMBAR":
        return layout.FENCE_OF_BLOCK if "CTA" in each.modifiers else layout.FENCE_OF_ALL
    if each.opcode in _ATOMICS:
        return BLOCK_ATOMIC if "SM" in each.modifiers else ATOMIC
    if each.opcode not in (*_LOADS, *_STORES):
        return PLAIN
    if kind := lines.kind(each.location, _verb(each)):
        return kind
    if not _STRONG.isdisjoint(each.modifiers):
        return BLOCK_ATOMIC if "SM" in each.modifiers else ATOMIC
    # The first instruction of a loop that retries an atomic in shared memory.
    first = each.opcode == "LDS" and _line(each.location) in retried
    return ATOMIC if first else PLAIN


def _first_of_loops(function: Function, lines: OfLines) -> Iterator[int]:
    """Find the loads that begin a loop implementing an atomic on a half: they load the word that a
    compare-and-swap on the same line then changes."""
    swaps = {
        (_line(each.location), base.number)
        for each in function.instructions
        if each.opcode in _ATOMICS and "CAS" in each.modifiers and lines.retries(each.location)
        for operand in each.operands if (base := operand.base)
    }  # fmt: skip
    for number, each in enumerate(function.instructions):
        base = each.operands[-1].base if each.opcode in _LOADS else None
        if base and (_line(each.location), base.number) in swaps:
            yield number


def _waits_for_reading(function: Function) -> Iterator[int]:
    """Find the waits that end when the sources of bulk copies have been read. A wait for the writes
    of bulk copies differs in that a cache invalidation follows it."""
    every = function.instructions
    for number, each in enumerate(every):
        behind = every[number + 1 : number + 1 + _NEXT]
        if each.name == "DEPBAR.LE" and not any(i.name == _STALE for i in behind):
            yield number


def _meetings(function: Function) -> list[int]:
    """Find the vote or shuffle that each WARPSYNC prepares: the next one on the same line, before
    any branch. Return the index of the first instruction of the same kind, or -1. A WARPSYNC
    without one is a `__syncwarp`, at which lanes may meet any others."""
    firsts: dict[tuple[str, ...], int] = {}
    every, out = function.instructions, []
    for number, each in enumerate(every):
        found = -1
        if each.opcode == "WARPSYNC" and (line := _line(each.location)):
            for at in range(number + 1, len(every)):
                if every[at].opcode in _LEAVE:
                    break
                if _exchanges(every[at]) and _line(every[at].location) == line:
                    opcode = every[at].opcode.removesuffix("U")
                    found = firsts.setdefault((opcode, *every[at].modifiers), at)
                    break
        out.append(found)
    return out


def _exchanges(each: Instruction) -> bool:
    """Return whether an instruction exchanges values between lanes. A vote on a constant finds out
    which lanes are active, and needs no other lanes."""
    return each.opcode in _EXCHANGES and each.operands[-1].text != "PT"


def _traits(each: Instruction, lines: OfLines) -> int:
    if each.opcode in _TELL_MBARRIERS and not each.name.startswith(_TO_GLOBAL):
        waits = engine_layout.IS_LOAD * ("PHASECHK" in each.modifiers)
        orders = _COUNT_BYTES.isdisjoint(each.modifiers) and lines.orders(each.location)
        return (engine_layout.REACHES_ALL | engine_layout.OF_MBARRIER | waits
                | engine_layout.IS_FENCE * orders)  # fmt: skip
    return engine_layout.REACHES_ALL | _verb(each) | lines.traits(each.location, _verb(each))


def _verb(each: Instruction) -> int:
    """IS_LOAD or IS_STORE; 0 for an atomic or any other instruction."""
    if each.opcode in _LOADS:
        return engine_layout.IS_LOAD
    return engine_layout.IS_STORE * (each.opcode in _STORES)


def _grains(function: Function) -> tuple[int, int]:
    def least(shared: bool) -> int:
        return min(
            (
                min((_BYTES[m] for m in each.modifiers if m in _BYTES), default=4)
                for each in function.instructions
                if each.opcode in _ACCESSES and (each.opcode.endswith("S") == shared
                                                 or each.opcode in ("LD", "ST", "LDGSTS"))
            ),
            default=4,
        )  # fmt: skip

    return least(False), least(True)


def _line(location: Location | None) -> tuple[str, int] | None:
    place = user_line(location)
    return (place.file, place.line) if place else None


@dataclass(frozen=True)
class CodePlace(Launched):
    """Names for messages about machine code.

    `reserved`: the bytes of shared memory that precede the kernel's own, and are included in the
    fault's offsets.
    """

    function: Function
    shared: SharedVariables
    reserved: int

    def position(self, at: int, memory: int, site: int) -> str:
        own = engine_layout.SHARED_MEMORY
        return super().position(at - self.reserved * (memory == own), memory, site)

    def shared_variables(self) -> SharedVariables:
        return self.shared

    def user_line(self, site: int) -> Location | None:
        return user_line(self.function.instructions[site].location)

    def line(self, site: int, beside: int) -> str:
        instruction = self.function.instructions[site]
        where = user_line(instruction.location)
        other = user_line(self.function.instructions[beside].location)
        if where is None:
            return f"? (`{instruction.text}` at {instruction.address:#x})"
        file = other.file if other else ""
        return line_in(where, file) + callers(where, file)

    def opcode(self, site: int) -> str:
        return self.function.instructions[site].opcode

    def line_of_ending(self, number: int, beside: int) -> str:
        return self.line(number, beside)


def details(library: Any, handle: Any) -> Iterator[int]:
    count = library.sass_details(handle, layout.ffi.NULL, 0)
    numbers = layout.ffi.new("i64[]", count)
    library.sass_details(handle, numbers, count)
    yield from numbers
