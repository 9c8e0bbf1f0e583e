"""Decide whether compiled kernels are identical: everything loaded to run them must match.

Comparing a kernel's instructions is not enough. The same instructions with a different table in
constant memory, or a different initial value of a variable, compute something else and may take 64
times as long. Therefore every loaded section of the cubin is compared, with the targets of its
relocations. Names, source lines and other kernels in the file are ignored.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

_LOADED = 0x2
"""The section flag SHF_ALLOC of ELF."""
_NO_BYTES = "SHT_NOBITS"
_RELOCATIONS = ("SHT_REL", "SHT_RELA")
_ATTRIBUTES = ".nv.info."
"""The prefix of the section with a kernel's launch attributes, such as the shape of its
clusters."""


def machine_code(cubin: Path) -> dict[str, str]:
    """Map each kernel to the SHA-256 of its SASS, without names and line numbers.

    Empty if the file is not in a known cubin format.
    """
    return {
        section.name.removeprefix(".text."): hashlib.sha256(section.data()).hexdigest()
        for section in _sections(cubin)
        if section.name.startswith(".text.")
    }


def loaded(cubin: Path, kernels: Collection[str]) -> dict[str, str]:
    """Map each kernel to the SHA-256 of everything that is loaded to run it.

    A GPU loads its code, constants, variables and launch attributes.

    Empty if the file is not in a known cubin format.
    """
    sections = _sections(cubin)
    owners = [_owner(section.name, kernels) for section in sections]
    found = {}
    for kernel in kernels:
        digest = hashlib.sha256()
        for section, owner in zip(sections, owners, strict=True):
            if owner in ("", kernel):
                for part in _content(section, sections, owner):
                    digest.update(f"{len(part)}\0".encode() + part)
        found[kernel] = digest.hexdigest()
    return found if sections else {}


def _sections(cubin: Path) -> list[Any]:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        return list(ELFFile(io.BytesIO(cubin.read_bytes())).iter_sections())
    except ELFError:
        return []


def _owner(section: str, kernels: Collection[str]) -> str:
    """The kernel that a section belongs to; empty if all kernels share it."""
    last = section.rpartition(".")[2]
    return last if last in kernels else ""


def _content(section: Any, sections: list[Any], owner: str) -> Iterator[bytes]:
    """Yield the parts of a section that affect execution; nothing if the section is not loaded."""
    kind = section.name.removesuffix(owner) if owner else ".".join(section.name.split(".")[:3])
    if section["sh_flags"] & _LOADED:
        yield kind.encode()
        yield str(section["sh_size"]).encode()
        if section["sh_type"] != _NO_BYTES:
            yield section.data()
    elif section["sh_type"] in _RELOCATIONS and sections[section["sh_info"]]["sh_flags"] & _LOADED:
        symbols = sections[section["sh_link"]]
        for entry in section.iter_relocations():
            symbol = symbols.get_symbol(entry["r_info_sym"])
            # A variable is identified by its address, not its name; anything else by its name.
            at = symbol["st_shndx"]
            to = (at, symbol["st_value"]) if isinstance(at, int) else symbol.name
            addend = entry["r_addend"] if entry.is_RELA() else 0
            yield repr((entry["r_offset"], entry["r_info_type"], to, addend)).encode()
    elif owner and section.name.startswith(_ATTRIBUTES):
        yield section.data()
