"""The names of a kernel's variables in shared memory, for messages.

In PTX an offset determines the variable, because the emulator itself lays the variables out. ptxas
does not record its layout. In machine code, an offset therefore identifies a variable only if the
kernel has no other; otherwise the variable is known only at a source line whose accesses are all to
the same variable.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.emulator.program.decode.operands import RESERVED
from harness.emulator.program.ir import Op, Program, Register, SymbolAddress
from harness.emulator.ptx.kernel_names import plain_name
from harness.emulator.ptx.source_lines import user_line

_OF_FUNCTION = re.compile(r"E(?:NK?)?L?(\d+)")
_DISCRIMINATOR = re.compile(r"_(?:\d|_\d+_)?(?:_\d+)?")
_CARRY_ADDRESSES = ("mov", "cvt", "cvta", "add", "sub", "or", "mad", "selp")
_ACCESSES = ("ld", "st", "atom", "red", "copy_async", "ldmatrix", "stmatrix")


def source_name(symbol: str) -> str:
    """The name of a variable in the source: `_ZZ1kE4tile` → `tile`."""
    symbol = symbol.rpartition(":")[2]
    if symbol.startswith("_ZZ"):
        for found in _OF_FUNCTION.finditer(symbol):
            end = found.end() + int(found[1])
            if end <= len(symbol) and (
                end == len(symbol) or _DISCRIMINATOR.fullmatch(symbol[end:])
            ):
                return symbol[found.end() : end]
        return symbol
    return plain_name(symbol)[-1]


@dataclass(frozen=True)
class SharedVariables:
    """`starts`: the offset of each variable. `of_lines`: the variable of each line that accesses
    only one.
    """

    starts: Mapping[str, int] = field(default_factory=dict)
    of_lines: Mapping[Any, str] = field(default_factory=dict)

    def at(self, offset: int, line: Any = None) -> str:
        """Name a position in shared memory."""
        before = [start for start in self.starts.values() if start <= offset]
        there = [name for name, start in self.starts.items() if before and start == max(before)]
        if len(there) == 1 and there[0] != RESERVED.name:
            return f"offset {offset - max(before)} of `{source_name(there[0])}` in shared memory"
        of = f" (in `{source_name(self.of_lines[line])}`)" if line in self.of_lines else ""
        return f"offset {offset} of shared memory{of}"


def in_code(program: Program, static_bytes: int) -> SharedVariables:
    """Return what is known of the shared-memory variables in a kernel's machine code.
    `static_bytes`: the size of its static shared memory."""
    starts = program.shared
    if static_bytes == program.shared_static and len(starts) == len(set(starts.values())):
        static = sum(start < static_bytes for start in starts.values())
        if static <= 1 and RESERVED.name not in starts:
            return SharedVariables(starts)
    return SharedVariables(of_lines=_of_lines(program))


def _of_lines(program: Program) -> dict[Any, str]:
    """The variable of each source line whose accesses to shared memory are all to one variable."""
    made: dict[int, list[Op]] = defaultdict(list)
    for block in program.blocks:
        for op in block.ops:
            for register in op.registers_written():
                made[register.slot].append(op)
    found: dict[Any, set[str | None]] = defaultdict(set)
    for block in program.blocks:
        for op in block.ops:
            site = program.sites[op.site]
            if op.name in _ACCESSES and site.location is not None and "global" not in op.variant:
                names = set(_symbols(op.sources[0], made, set()))
                found[user_line(site.location)] |= names or {None}
    only = {line: names.copy().pop() for line, names in found.items() if len(names) == 1}
    return {line: name for line, name in only.items() if name is not None}


def _symbols(source: object, made: Mapping[int, list[Op]], seen: set[int]) -> Iterator[str]:
    """The shared variables whose addresses a value may be computed from."""
    if isinstance(source, SymbolAddress) and source.space == "shared":
        yield source.name
    elif isinstance(source, Register) and source.slot not in seen:
        seen.add(source.slot)
        for op in made.get(source.slot, ()):
            if op.name in _CARRY_ADDRESSES:
                for each in op.sources:
                    yield from _symbols(each, made, seen)
