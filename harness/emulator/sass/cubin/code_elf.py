"""Put the code of many cubins into one ELF, so that the disassembler starts once for all of them.

nvdisasm takes about 0.6 s to start, whatever its input, and a millisecond per kernel. To write its
JSON output, nvdisasm needs only the instructions and the function symbols, which calls and returns
name.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from harness.emulator.sass.code import INSTRUCTION_BYTES
from harness.emulator.sass.cubin.disassembler import functions_in

_HEADER_BYTES = 64
_IDENTITY = slice(0, 0x18)
"""The part of a header with the class, ABI, kind of file and machine."""
_FLAGS = slice(0x30, 0x34)
"""The part of a header with the architecture."""
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_SYMBOL, _SECTION = "<IBBHQQ", "<IIQQQQIIQQ"
_ALLOC_AND_EXECUTE = 6
_GLOBAL_FUNCTION = 0x12
_CODE_ALIGNMENT = 128


@dataclass
class _Section:
    name: str
    kind: int
    data: bytes
    link: int = 0
    info: int = 0
    flags: int = 0
    alignment: int = 8
    entry_bytes: int = 0


@dataclass
class _Strings:
    data: bytearray = field(default_factory=lambda: bytearray(1))

    def place(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def kind_of(content: bytes) -> bytes:
    """Return the properties in which cubins must agree to be merged: ABI and architecture."""
    return content[_IDENTITY] + content[_FLAGS]


def _mark(number: int) -> str:
    """The prefix of the symbols of the cubin with that number in the merged file."""
    return f"@{number}@"


def together(cubins: Sequence[bytes]) -> bytes:
    """Merge the functions of all cubins, which are of one kind, into one ELF with marked symbols.

    Raises the errors that a damaged cubin causes in pyelftools.
    """
    symbols, strings, code = bytearray(struct.calcsize(_SYMBOL)), _Strings(), list[_Section]()
    tables = 4  # the empty section, section names, symbol names, symbols
    for number, content in enumerate(cubins):
        for name, data, entries in _functions(content):
            place = tables + len(code)
            for symbol, start, size in entries:
                at = strings.place(_mark(number) + symbol)
                symbols += struct.pack(_SYMBOL, at, _GLOBAL_FUNCTION, 0, place, start, size)
            code.append(
                _Section(
                    f".text.{_mark(number)}{name}", _PROGBITS, data, link=3,
                    info=(len(symbols) // struct.calcsize(_SYMBOL) - len(entries)) | 16 << 24,
                    flags=_ALLOC_AND_EXECUTE, alignment=_CODE_ALIGNMENT,
                )
            )  # fmt: skip
    names = _Section(".shstrtab", _STRTAB, b"")
    listed = [
        names,
        _Section(".strtab", _STRTAB, bytes(strings.data)),
        _Section(
            ".symtab", _SYMTAB, bytes(symbols), link=2, info=1,
            entry_bytes=struct.calcsize(_SYMBOL),
        ),
        *code,
    ]  # fmt: skip
    return _written(cubins[0][:_HEADER_BYTES], listed, names)


def apart(printed: str, count: int) -> list[str]:
    """Split nvdisasm's JSON for merged cubins into one for each cubin.

    Raises one of disassembler.UNLIKE_THE_KNOWN if the JSON has an unknown form.
    """
    functions: list[list[str]] = [[] for _ in range(count)]
    for each in functions_in(printed):
        number = int(each["function-name"].split("@")[1])
        functions[number].append(json.dumps(each).replace(_mark(number), ""))
    return [f"[[{', '.join(own)}]]" for own in functions]


def _functions(content: bytes) -> Iterator[tuple[str, bytes, list[tuple[str, int, int]]]]:
    """Each kernel's name and code, and its symbols with their starts and sizes."""
    elf = ELFFile(io.BytesIO(content))
    entries: dict[int, list[tuple[str, int, int]]] = {}
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for symbol in table.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC":
                    place = int(symbol["st_value"]), int(symbol["st_size"])
                    entries.setdefault(symbol["st_shndx"], []).append((symbol.name, *place))
    for number, section in enumerate(elf.iter_sections()):
        if section.name.startswith(".text."):
            name = section.name.removeprefix(".text.")
            whole = name, 0, section.data_size // INSTRUCTION_BYTES * INSTRUCTION_BYTES
            yield name, section.data(), entries.get(number, [whole])


def _written(header: bytes, sections: Sequence[_Section], names: _Section) -> bytes:
    """Write an ELF file: its header, the sections' data, and their headers."""
    words = _Strings()
    places = [words.place(section.name) for section in sections]
    names.data = bytes(words.data)
    body, heads = bytearray(_HEADER_BYTES), bytearray(struct.calcsize(_SECTION))
    for place, section in zip(places, sections, strict=True):
        body += bytes(-len(body) % section.alignment)
        heads += struct.pack(
            _SECTION, place, section.kind, section.flags, 0, len(body), len(section.data),
            section.link, section.info, section.alignment, section.entry_bytes,
        )  # fmt: skip
        body += section.data
    body += bytes(-len(body) % 8)
    start = bytearray(header)
    start[0x20:0x30] = struct.pack("<QQ", 0, len(body))  # no segments; the offset of the headers
    start[0x34:0x40] = struct.pack(
        "<HHHHHH", _HEADER_BYTES, 0, 0, struct.calcsize(_SECTION), 1 + len(sections), 1
    )
    return bytes(start + body[_HEADER_BYTES:] + heads)
