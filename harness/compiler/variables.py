"""The variables of a cubin that stay in device memory between launches."""

from __future__ import annotations

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

_SECTIONS = (".nv.global", ".nv.global.init")
"""The sections of `__device__` variables, without and with an initial value."""


def device_variables(cubin: Path) -> list[str]:
    """List the symbols of `__device__` variables; empty if the file's format is not recognised."""
    try:
        with cubin.open("rb") as file:
            elf = ELFFile(file)
            symbols = elf.get_section_by_name(".symtab")
            if symbols is None:
                return []
            sections = [section.name for section in elf.iter_sections()]
            return [
                symbol.name
                for symbol in symbols.iter_symbols()
                if symbol["st_info"]["type"] == "STT_OBJECT"
                and isinstance(symbol["st_shndx"], int)
                and sections[symbol["st_shndx"]].startswith(_SECTIONS)
            ]
    except ELFError:
        return []
