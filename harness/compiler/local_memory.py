"""Find the source line of a kernel that uses the most local memory, by reading its machine code.

The assembler reports how many bytes are spilled or on the stack, but not at which line. The machine
code shows the line: accesses to local memory have opcodes of their own, and `-lineinfo` gives each
instruction its line. Each instruction in the code counts once, however often it is executed.
"""

from __future__ import annotations

import io
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.elffile import ELFFile

from harness.files import line_table

_INSTRUCTION = 16
"""The size of a machine instruction in bytes, since compute capability 7.0."""

_LOCAL = frozenset({0x387, 0x983})
"""The opcodes of STL and LDL (the lowest 12 bits), since compute capability 7.0."""


@dataclass(frozen=True)
class _Lines:
    """A kernel's line table: the `file:line` of the code from each address to the next."""

    addresses: list[int]
    places: list[str]

    def at(self, address: int) -> str:
        index = bisect_right(self.addresses, address) - 1
        return self.places[index] if index >= 0 else ""


def places(cubin: Path) -> dict[str, str]:
    """Map each kernel to the `file:line` with the most loads from and stores to local memory.

    Inlined code is attributed to the line that calls it, as in the assembler's line table. Kernels
    without such instructions, or without lines, are left out, and so are all kernels of a file
    whose format is not recognised.
    """
    try:
        with cubin.open("rb") as file:
            return dict(_places(ELFFile(file)))
    except (ELFError, KeyError, IndexError, ValueError):
        return {}


def _places(elf: ELFFile) -> Iterator[tuple[str, str]]:
    lines = _line_tables(elf)
    for section in elf.iter_sections():
        kernel = section.name.removeprefix(".text.")
        if section.name == kernel or kernel not in lines:
            continue
        found = Counter(lines[kernel].at(address) for address in _local(section.data()))
        found.pop("", None)
        if found:
            yield kernel, max(sorted(found), key=lambda place: found[place])


def _local(code: bytes) -> Iterator[int]:
    """Yield the addresses of loads from and stores to local memory."""
    for address in range(0, len(code), _INSTRUCTION):
        if int.from_bytes(code[address : address + 2], "little") & 0xFFF in _LOCAL:
            yield address


def _line_tables(elf: ELFFile) -> dict[str, _Lines]:
    """Map each kernel to its lines; empty if the kernel of a line sequence cannot be determined."""
    sections, content = line_table.read(elf)
    found = list(_sequences(content))
    if len(found) != len(sections):
        return {}
    return {name.removeprefix(".text."): rows for name, rows in zip(sections, found, strict=True)}


def _sequences(content: bytes) -> Iterator[_Lines]:
    """Yield the rows of every line program, one sequence at a time."""
    for header, code in line_table.programs(content):
        program = LineProgram(header, io.BytesIO(code), line_table.STRUCTS, 0, len(code))
        addresses: list[int] = []
        places: list[str] = []
        for entry in program.get_entries():
            row = entry.state
            if row is None:
                continue
            addresses.append(row.address)
            places.append("" if row.end_sequence else f"{_file(program, row.file)}:{row.line}")
            if row.end_sequence:
                yield _Lines(addresses, places)
                addresses, places = [], []


def _file(program: LineProgram, number: int) -> str:
    file = program.header["file_entry"][number - 1]
    name, folder = os.fsdecode(file["name"]), file["dir_index"]
    if not folder:
        return name
    return os.path.join(os.fsdecode(program.header["include_directory"][folder - 1]), name)
