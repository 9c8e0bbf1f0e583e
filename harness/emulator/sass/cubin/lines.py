"""The source lines of a cubin's instructions, from its `.debug_line` section.

The section is a DWARF 2 line table with one undocumented extension, inferred from the output of
`nvdisasm -gi`: the rows of an inlined function are preceded by the row that called it. (If only the
caller of a line changes, nvdisasm does not print the line again; this module gives each instruction
its own line and caller.) pyelftools' line program is not used: it skips that extension, and takes
three times as long. Its LEB128 reader has no length limit, so a damaged file can keep it reading
forever.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Any

from elftools.elf.elffile import ELFFile

from harness.emulator.ptx.syntax import Location
from harness.files import line_table

_COPY, _ADVANCE_ADDRESS, _ADVANCE_LINE, _SET_FILE, _CONSTANT_ADDRESS, _FIXED_ADDRESS = (
    1, 2, 3, 4, 8, 9,
)  # fmt: skip
_END_OF_SEQUENCE, _SET_ADDRESS, _INLINED_CALL = 1, 2, 0x90
_DEEPEST = 200
"""The deepest nesting of inlined calls."""
_MOST_ROWS = 1 << 22


@dataclass
class Lines:
    """A kernel's rows: the source location of the code from each address to the next, or None."""

    addresses: list[int] = field(default_factory=list)
    locations: list[Location | None] = field(default_factory=list)

    def at(self, address: int) -> Location | None:
        index = bisect_right(self.addresses, address) - 1
        return self.locations[index] if index >= 0 else None


def lines_of(elf: ELFFile) -> dict[str, Lines]:
    """Map each section of code to its lines; empty if a sequence's section cannot be determined.
    Raises the errors that a damaged table causes."""
    sections, content = line_table.read(elf)
    found = [
        lines
        for header, code in line_table.programs(content)
        for lines in _Program(header).run(code)
    ]
    if len(found) != len(sections):
        return {}
    return dict(zip(sections, found, strict=True))


class _Program:
    """A line program, which turns its opcodes into rows."""

    def __init__(self, header: Any) -> None:
        folders = [os.fsdecode(each) for each in header["include_directory"]]
        self._files = [
            normpath(os.path.join(*folders[i - 1 : i], os.fsdecode(each["name"])))
            for each in header["file_entry"]
            for i in [each["dir_index"]]
        ]
        self._header = header
        self._begin()

    def _begin(self) -> None:
        """Begin a sequence. Its rows refer to their calling rows by number, counted from 1."""
        self._found = Lines()
        self._depths: list[int] = []
        self._address, self._file, self._line, self._caller = 0, 1, 1, 0

    def run(self, code: bytes) -> Iterator[Lines]:
        header, at = self._header, 0
        while at < len(code):
            opcode, at = code[at], at + 1
            if opcode >= header["opcode_base"]:
                steps, lines = divmod(opcode - header["opcode_base"], header["line_range"])
                self._advance(steps)
                self._line += header["line_base"] + lines
                self._row()
            elif opcode == 0:
                size, at = _unsigned(code, at)
                if code[at] == _END_OF_SEQUENCE:
                    self._found.addresses.append(self._address)
                    self._found.locations.append(None)
                    yield self._found
                    self._begin()
                else:
                    self._extended(code[at], code[at + 1 : at + size])
                at += size
            else:
                at = self._standard(opcode, code, at)

    def _row(self) -> None:
        caller, depth = None, 0
        if self._caller:
            caller = self._found.locations[self._caller - 1]
            depth = self._depths[self._caller - 1] + 1
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} calls are inlined into each other")
        if len(self._depths) == _MOST_ROWS:
            raise ValueError(f"more than {_MOST_ROWS} rows of lines")
        self._depths.append(depth)
        self._found.addresses.append(self._address)
        self._found.locations.append(Location(self._files[self._file - 1], self._line, caller))

    def _advance(self, steps: int) -> None:
        self._address += steps * self._header["minimum_instruction_length"]

    def _extended(self, opcode: int, operands: bytes) -> None:
        if opcode == _SET_ADDRESS:
            self._address = int.from_bytes(operands, "little")
        elif opcode == _INLINED_CALL:
            self._caller, _ = _unsigned(operands, 0)

    def _standard(self, opcode: int, code: bytes, at: int) -> int:
        """Execute a standard opcode; return the position of the next one."""
        if opcode == _COPY:
            self._row()
        elif opcode == _ADVANCE_ADDRESS:
            steps, at = _unsigned(code, at)
            self._advance(steps)
        elif opcode == _ADVANCE_LINE:
            lines, at = _signed(code, at)
            self._line += lines
        elif opcode == _SET_FILE:
            self._file, at = _unsigned(code, at)
        elif opcode == _CONSTANT_ADDRESS:
            self._advance((255 - self._header["opcode_base"]) // self._header["line_range"])
        elif opcode == _FIXED_ADDRESS:
            self._address += int.from_bytes(code[at : at + 2], "little")
            at += 2
        else:  # has no effect on lines
            for _ in range(self._header["standard_opcode_lengths"][opcode - 1]):
                _, at = _unsigned(code, at)
        return at


def _unsigned(code: bytes, at: int) -> tuple[int, int]:
    """Decode a number in LEB128; return it and the position after it."""
    value = shift = 0
    while True:
        byte, at = code[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _signed(code: bytes, at: int) -> tuple[int, int]:
    value, end = _unsigned(code, at)
    negative = code[end - 1] & 0x40
    return (value - (1 << 7 * (end - at)) if negative else value), end
