"""A cubin's `.debug_line` section, divided into its line programs, and the code that each
describes.

Each section of code has a sequence of rows that begins with a relocated address. The order of the
relocations shows which section a sequence belongs to.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from elftools.common.utils import struct_parse
from elftools.dwarf.structs import DWARFStructs
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8, dwarf_version=2)


def read(elf: ELFFile) -> tuple[list[str], bytes]:
    """Return the sections of code in the order of their sequences, and the content of the line
    table; both are empty if there is no table. Raises the errors that a damaged file causes."""
    section = elf.get_section_by_name(".debug_line")
    relocations = (  # `.rel` up to compute capability 8
        elf.get_section_by_name(".rela.debug_line") or elf.get_section_by_name(".rel.debug_line")
    )
    if section is None or not isinstance(relocations, RelocationSection):
        return [], b""
    symbols = elf.get_section(relocations["sh_link"])
    begins = sorted(relocations.iter_relocations(), key=lambda each: int(each["r_offset"]))
    pointed_at = (symbols.get_symbol(each["r_info_sym"])["st_shndx"] for each in begins)
    return [str(elf.get_section(index).name) for index in pointed_at], section.data()


def programs(content: bytes) -> Iterator[tuple[Any, bytes]]:
    """Yield the header and the opcodes of every line program."""
    stream, offset = io.BytesIO(content), 0
    while offset < len(content):
        header = struct_parse(STRUCTS.Dwarf_lineprog_header, stream, offset)
        begin, offset = stream.tell(), offset + header["unit_length"] + 4
        yield header, content[begin:offset]
