"""A folder of kernels, one per file, compiled as one unit and separated again.

Reading CUDA's headers takes nearly all of nvcc's time for a small kernel. Therefore a unit includes
all files of a folder, each in a namespace of its own, with a different name for its kernel; source
locations remain those of the files. The result for a file is PTX with its kernel and everything
that the kernel uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kernel_files import kernel_of

_ONE_LINE = (".version", ".target", ".address_size", ".file")
_WORD = re.compile(r"[\w$]+")
_DEFINED = re.compile(
    r"\.entry\s+([\w$]+)|\.func\s*(?:\([^)]*\)\s*)?([\w$]+)|([\w$]+)(?:\[[^\]]*\])*\s*(?:=|;)"
)
_HEADER = re.compile(r"^#include <.*>$", re.MULTILINE)


def text(folder: Path) -> str:
    """The text of the unit. Headers come first, because they must not be in a namespace."""
    files = _files(folder)
    found = dict.fromkeys(line for path in files for line in _HEADER.findall(path.read_text()))
    for number, path in enumerate(files):
        name = kernel_of(path)
        found |= {
            f"#define {name} {name}__{number}\nnamespace file_{number} {{\n"
            f'#include "{path}"\n}}\n#undef {name}': None
        }
    return "\n".join([*found, ""])


def cut(ptx: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Split the unit's PTX: the name of each file → its own PTX."""
    statements = list(_statements(ptx))
    defined = {_name(each): each for each in statements if each.lstrip().startswith((".", "//"))}
    uses = {each: {*_WORD.findall(each)} & defined.keys() for each in statements}
    for number, path in enumerate(_files(folder)):
        name = kernel_of(path)
        kept, asked = {""}, [f"{name}__{number}"]
        while asked:
            kept.add(asked[-1])
            asked += uses[defined[asked.pop()]] - kept - {*asked}
        own = "\n".join(each for each in statements if _name(each) in kept)
        own = re.sub(rf"\d+{name}__{number}(?!\d)", f"{len(name)}{name}", own)  # in mangled names
        yield path.stem, re.sub(rf"{name}__{number}(?!\d)", name, _strings_in_use(own))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cu"))


def _statements(ptx: str) -> Iterator[str]:
    """Split a module into its top-level parts, without the comments between them."""
    lines: list[str] = []
    depth = 0
    for line in ptx.splitlines():
        code = line.partition("//")[0].rstrip()
        if not code and not lines:
            continue
        lines.append(line)
        depth += code.count("{") - code.count("}")
        alone = len(lines) == 1 and code.lstrip().startswith(_ONE_LINE)
        if depth == 0 and (alone or code.endswith((";", "}"))):
            yield "\n".join(lines)
            lines = []


def _name(statement: str) -> str:
    """The symbol that a statement defines; empty if the statement belongs to the whole module."""
    if statement.lstrip().startswith((*_ONE_LINE, ".section")):
        return ""
    found = _DEFINED.search(statement)
    assert found, statement
    return next(filter(None, found.groups()))


def _strings_in_use(ptx: str) -> str:
    """Remove the names of inlined functions to which no line refers."""
    before, section, rest = ptx.partition("\t.section\t.debug_str")
    first, *strings = re.split(r"^(?=\$L__info_string\d+:)", rest.rpartition("}")[0], flags=re.M)
    used = {*re.findall(r"\$L__info_string\d+", before)}
    kept = [each for each in strings if each.partition(":")[0] in used]
    return before + "".join([section, first, *kept, "}\n"] if kept else [])
