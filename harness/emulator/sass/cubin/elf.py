"""Read the contents of a cubin's ELF other than the instructions: parameters, registers, constants.

The attributes of `.nv.info` sections are not documented. Their numbers were taken from cubins of
nvcc 12 and 13, and agree with the names that `cuobjdump -elf` prints.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from harness.emulator.sass.architectures import ARCHITECTURES
from harness.emulator.sass.code import INSTRUCTION_BYTES, Parameter, Variable
from harness.emulator.sass.cubin.lines import Lines, lines_of
from harness.emulator.sass.errors import CubinError

_PARAMETER_BASE, _MAX_THREADS, _REQUIRED_THREADS = 0x0A, 0x05, 0x10
_FRAME_SIZE, _STACK_SIZE, _PARAMETER, _REGISTERS = 0x11, 0x12, 0x17, 0x2F
_CLUSTER, _EXPLICIT_CLUSTER, _LARGE_PARAMETER = 0x3D, 0x3E, 0x45
_WITH_PAYLOAD = 4
_ADDRESS_RELOCATION = 2
_MOST_BYTES = 1 << 28
_MOST_OF_VARIABLES = 1 << 32
_BANK_OF_PARAMETERS = ".nv.constant0."
_OWN_BANK = re.compile(r"\.nv\.constant([1-9])\.(.+)")
"""A constant bank of a single kernel, in which the assembler keeps large immediates."""


@dataclass
class Kernel:
    """The ELF's data on one kernel; `code` holds the bytes of its instructions."""

    code: bytes
    parameters: list[Parameter] = field(default_factory=list)
    parameter_base: int = 0
    registers: int = 0
    shared_bytes: int = 0
    shared_start: int = 0
    local_bytes: int = 0
    max_threads: tuple[int, int, int] | None = None
    required_threads: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    entries: dict[str, int] = field(default_factory=dict)
    banks: dict[int, bytes] = field(default_factory=dict)
    lines: Lines = field(default_factory=Lines)


@dataclass
class Contents:
    """The contents of the ELF; the records of `code.py` explain the fields."""

    arch: str
    kernels: dict[str, Kernel]
    banks: dict[int, bytes]
    variables: dict[str, Variable]
    sections: dict[str, bytes]
    addresses: list[tuple[int, str, int]]


def contents(content: bytes, name: str) -> Contents:
    """Read a cubin's contents. Raises CubinError if it is not a cubin, is damaged, or is for
    another architecture."""
    if not content.startswith(b"\x7fELF"):
        raise CubinError(name, "it is no cubin: it does not begin as an ELF file does")
    if len(content) > _MOST_BYTES:
        raise CubinError(name, f"it has {len(content)} bytes; at most {_MOST_BYTES} are read")
    try:
        return _contents(ELFFile(io.BytesIO(content)), name)
    except CubinError:
        raise
    except Exception as error:  # a damaged file makes pyelftools raise errors of any kind
        why = f"{type(error).__name__}: {error}"[:200]
        raise CubinError(name, f"its ELF sections cannot be read; it is damaged ({why})") from None


def _contents(elf: ELFFile, name: str) -> Contents:
    if elf.header["e_machine"] != "EM_CUDA" or elf.elfclass != 64:
        raise CubinError(name, f"it is an ELF file for {elf.header['e_machine']}, not a cubin")
    arch = _architecture(elf)
    if arch not in ARCHITECTURES:
        raise CubinError(
            name, f"it is for {arch}; machine code of {', '.join(ARCHITECTURES)} is known here"
        )
    sections = list(elf.iter_sections())
    symbols = next((s for s in sections if isinstance(s, SymbolTableSection)), None)
    if symbols is None:
        raise CubinError(name, "it has no symbol table; it is damaged")
    reserved = ARCHITECTURES[arch].reserved_shared
    kernels = {
        s.name.removeprefix(".text."): Kernel(s.data(), shared_start=reserved)
        for s in sections
        if s.name.startswith(".text.")
    }
    for kernel, found in kernels.items():
        if not found.code or len(found.code) % INSTRUCTION_BYTES:
            raise CubinError(
                name, f"the code of `{kernel}` has {len(found.code)} bytes; it is damaged"
            )
    by_number = [symbol.name for symbol in symbols.iter_symbols()]
    for section in sections:
        _take(section, kernels, by_number)
    _take_bases(sections, kernels)
    _entries(symbols, sections, kernels)
    for section_of_code, lines in lines_of(elf).items():
        if (kernel_there := kernels.get(section_of_code.removeprefix(".text."))) is not None:
            kernel_there.lines = lines
    return Contents(
        arch, kernels, _banks(sections), _variables(symbols, sections, name),
        {s.name: s.data() for s in sections if s.name == ".nv.global.init"},
        list(_addresses(elf, sections)),
    )  # fmt: skip


def _architecture(elf: ELFFile) -> str:
    flags = int(elf.header["e_flags"])
    # Up to ABI 7, the lowest byte holds the architecture; since ABI 8, the second byte does.
    newer = elf.header["e_ident"]["EI_ABIVERSION"] >= 8
    return f"sm_{(flags >> 8 if newer else flags) & 0xFF}"


def _take(section: Any, kernels: dict[str, Kernel], symbols: list[str]) -> None:
    """Parse one section's attributes of the kernels."""
    if section.name == ".nv.info":
        _take_resources(section, kernels, symbols)
    elif (kernel := kernels.get(section.name.removeprefix(".nv.info."))) is not None:
        _take_attributes(section.data(), kernel)
    elif (kernel := kernels.get(section.name.removeprefix(".nv.shared."))) is not None:
        kernel.shared_bytes = max(0, int(section["sh_size"]) - kernel.shared_start)
    elif own := _OWN_BANK.match(section.name):
        kernel = kernels.get(own[2])
        if kernel is not None:
            kernel.banks[int(own[1])] = section.data()


def _take_attributes(data: bytes, kernel: Kernel) -> None:
    for attribute, payload in _attributes(data):
        if attribute == _PARAMETER:
            flags = _word(payload, 8)
            kernel.parameters.append(Parameter(_word(payload, 4) >> 16, flags >> 18))
        elif attribute == _LARGE_PARAMETER:  # for kernels with over 4 KiB of parameters
            kernel.parameters.append(Parameter(_word(payload, 4) >> 16, _word(payload, 8)))
        elif attribute == _PARAMETER_BASE:
            kernel.parameter_base = _word(payload, 4) & 0xFFFF
        elif attribute == _MAX_THREADS:
            kernel.max_threads = _three(payload)
        elif attribute == _REQUIRED_THREADS:
            kernel.required_threads = _three(payload)
        elif attribute == _CLUSTER:
            kernel.cluster = _three(payload)
        elif attribute == _EXPLICIT_CLUSTER:
            kernel.cluster = kernel.cluster or (0, 0, 0)
    kernel.parameters.sort(key=lambda each: each.offset)


def _take_resources(section: Any, kernels: dict[str, Kernel], symbols: list[str]) -> None:
    """Read registers and local memory, which one section lists for all kernels."""
    for attribute, payload in _attributes(section.data()):
        if attribute not in (_REGISTERS, _FRAME_SIZE, _STACK_SIZE):
            continue
        kernel = kernels.get(symbols[_word(payload, 0)])
        if kernel is None:
            continue
        if attribute == _REGISTERS:
            kernel.registers = _word(payload, 4)
        else:
            kernel.local_bytes = max(kernel.local_bytes, _word(payload, 4))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (attribute, payload); attributes without a payload have their value as two bytes."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, value = data[at], data[at + 1], data[at + 2 : at + 4]
        at += 4
        if form == _WITH_PAYLOAD:
            size = int.from_bytes(value, "little")
            yield attribute, data[at : at + size]
            at += size
        else:
            yield attribute, value


def _take_bases(sections: list[Any], kernels: dict[str, Kernel]) -> None:
    """Set the base of the parameters for kernels without any. They lack the attribute, but their
    launch dimensions and stack come before the base, too. Their base is the size of their bank
    0."""
    for section in sections:
        kernel = kernels.get(section.name.removeprefix(_BANK_OF_PARAMETERS))
        if section.name.startswith(_BANK_OF_PARAMETERS) and kernel and not kernel.parameters:
            kernel.parameter_base = min(section.data_size, 0xFFFF)


def _word(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise ValueError("an attribute is cut short")
    return int.from_bytes(data[at : at + 4], "little")


def _three(payload: bytes) -> tuple[int, int, int]:
    return _word(payload, 0), _word(payload, 4), _word(payload, 8)


def _entries(symbols: Any, sections: list[Any], kernels: dict[str, Kernel]) -> None:
    for symbol in symbols.iter_symbols():
        number = symbol["st_shndx"]
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(number, int):
            kernel = kernels.get(sections[number].name.removeprefix(".text."))
            if kernel is not None:
                kernel.entries[symbol.name] = int(symbol["st_value"])


def _banks(sections: list[Any]) -> dict[int, bytes]:
    """Constant banks of the module; bank 0 is built at launch."""
    prefix = ".nv.constant"
    return {
        int(s.name.removeprefix(prefix)): s.data()
        for s in sections
        if s.name.startswith(prefix) and s.name.removeprefix(prefix).isdigit()
    }


def _variables(symbols: Any, sections: list[Any], name: str) -> dict[str, Variable]:
    found = {}
    for symbol in symbols.iter_symbols():
        number = symbol["st_shndx"]
        if symbol["st_info"]["type"] != "STT_OBJECT" or not isinstance(number, int):
            continue
        section = sections[number].name
        if section.startswith((".nv.global", ".nv.constant")):
            place = int(symbol["st_value"]), int(symbol["st_size"])
            if sum(place) > min(int(sections[number]["sh_size"]), _MOST_OF_VARIABLES):
                raise CubinError(
                    name, f"its variable `{symbol.name}` lies beyond its section; it is damaged"
                )
            found[symbol.name] = Variable(symbol.name, section, *place)
    return found


def _addresses(elf: ELFFile, sections: list[Any]) -> Iterator[tuple[int, str, int]]:
    """The offsets in bank 4 that hold a variable's address."""
    for section in sections:
        if isinstance(section, RelocationSection) and section.name.endswith(".nv.constant4"):
            table = elf.get_section(section["sh_link"])
            for each in section.iter_relocations():
                if each["r_info_type"] == _ADDRESS_RELOCATION:
                    symbol = table.get_symbol(each["r_info_sym"])
                    addend = int(each["r_addend"]) if section.is_RELA() else 0
                    yield int(each["r_offset"]), symbol.name, addend
