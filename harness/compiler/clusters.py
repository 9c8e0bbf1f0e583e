"""Declare the thread block clusters of a launch in the kernel's PTX.

The directives are those that nvcc emits for __cluster_dims__. A plain launch of the kernel then
runs in clusters, without a launch attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from harness.errors import CompileError

Extents = tuple[int, int, int]
_ENTRY = r"\.entry\s+{}\s*\([^)]*\)[^{{;]*"


def symbol_of(name: str, symbols: Iterable[str]) -> list[str]:
    """The symbols that a plain kernel name may refer to: the name itself, or its C++ mangling."""
    symbols = list(symbols)
    if name in symbols:
        return [name]
    # _Z, the length, the name; a template's arguments follow after an I (Itanium C++ ABI).
    return [symbol for symbol in symbols if symbol.startswith(f"_Z{len(name)}{name}")]


def plain_name(symbol: str) -> str:
    """Demangle without arguments: `_Z4minePKfPfj` → `mine`, `_ZN2ns3sumIfEEvPT_` → `ns::sum`."""
    head = re.match(r"_Z(N?)", symbol)
    if head is None:
        return symbol
    parts, rest = [], symbol[head.end() :]
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
        if not head[1]:
            break
    return "::".join(parts) or symbol


def declare(
    ptx: str, clusters: Iterable[tuple[str, Extents]], names: Mapping[str, str], source: str
) -> str:
    """Return the PTX with its kernels' cluster shapes declared. Raises CompileError.

    `clusters`: each kernel that is launched in clusters, with each launch's cluster dimensions.
    `names`: maps kernels' C++ names to their symbols.
    """
    wanted: dict[str, set[Extents]] = {}
    for name, extents in clusters:
        wanted.setdefault(name, set()).add(extents)
    entries = re.findall(r"\.entry\s+([\w$]+)", ptx)
    for name, extents_ in wanted.items():
        if len(extents_) > 1:
            raise CompileError(
                f"{source}: {name} is launched in clusters of several extents: a kernel has one"
            )
        found = [names[name]] if name in names else symbol_of(name, dict.fromkeys(entries))
        for symbol in found:  # compile.kernel_name() reports any number other than one
            ptx = _declared(ptx, symbol, next(iter(extents_)), source)
    return ptx


def _declared(ptx: str, symbol: str, extents: Extents, source: str) -> str:
    directive = f"\n.explicitcluster\n.reqnctapercluster {', '.join(map(str, extents))}\n"

    def with_directive(head: re.Match[str]) -> str:
        if "cluster" in head[0].rpartition(")")[2]:
            raise CompileError(
                f"{source}: {symbol} has __cluster_dims__, and the matrix a `cluster`\n"
                "  keep one of them"
            )
        return head[0].rstrip() + directive

    pattern = _ENTRY.format(re.escape(symbol)) + r"(?=\{)"
    return re.sub(pattern, with_directive, ptx)
