"""The device functions that CUDA's headers declare, each as a kernel that calls it in every thread.

The functions come from cuda_fp16.h, cuda_bf16.h, and the arithmetic and integer intrinsics of crt/.
They take and return numbers, halves or pairs of halves. Warp, memory and texture functions are left
out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "device_functions"))

import instructions

HEADERS = (
    "cuda_fp16.h", "cuda_bf16.h", "crt/device_functions.h", "crt/math_functions.h",
    "crt/device_double_functions.h",
)  # fmt: skip
_TYPES = {
    "float": "f32", "double": "f64", "int": "s32", "unsigned int": "u32", "long long": "s64",
    "unsigned long long": "u64", "short": "s16", "unsigned short": "u16", "__half": "f16",
    "__half2": "f16x2", "__nv_bfloat16": "bf16", "__nv_bfloat162": "bf16x2", "bool": "u8",
}  # fmt: skip
_SPELLED = {
    "unsigned": "unsigned int", "long long int": "long long", "short int": "short",
    "unsigned long long int": "unsigned long long", "unsigned short int": "unsigned short",
}  # fmt: skip
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DECLARED = re.compile(
    r"(?:DECL__|__device__|DEVICE__)\s+((?:\w+\s+)+?)(\w+)\s*\(([^()]*)\)\s*(?:__THROW)?\s*;"
)
_QUALIFIER = re.compile(r"\b(?:__device\w*|__cdecl|static|extern|const|__host\w*)\b")
_OF_WARPS = re.compile(
    r"shfl|ballot|__any|__all|__match|__reduce|__nv_cvt|prof|__trap|brkpt|_D?sign"
)
_SMALL = ("jn", "jnf", "yn", "ynf")
"""Functions whose first operand determines their number of steps."""


@dataclass(frozen=True)
class Declared:
    """A function, with the PTX names and the C++ names of its types."""

    name: str
    result: str
    operands: tuple[str, ...]

    @property
    def types(self) -> list[str]:
        return [_TYPES[each] for each in (self.result, *self.operands)]

    @property
    def text(self) -> str:
        """The name that distinguishes the function from its overloads."""
        return f"{self.name}({', '.join(self.operands)})"

    def kernel(self, name: str) -> str:
        """The source, on one line so that the line number in a compiler error identifies it."""
        given = "".join(f", const {each}* a{n}" for n, each in enumerate(self.operands))
        call = ", ".join(f"a{n}[i]" for n in range(len(self.operands)))
        return (
            f'extern "C" __global__ void {name}({self.result}* out{given}) '
            "{ const int i = blockIdx.x * blockDim.x + threadIdx.x; "
            f"out[i] = {self.name}({call}); }}"
        )

    def drawn(self) -> list[NDArray[np.unsignedinteger]]:
        """Generate operands that test rounding, limits and signs."""
        _, *types = self.types
        if len({*types}) == 1 and len(types) <= 3 and types[0] not in ("s16", "u16"):
            found = instructions.operands(types)
        else:
            found = [np.roll(_patterns(each), 61 * n) for n, each in enumerate(types)]
        if self.name in _SMALL:
            found[0] %= np.uint32(9)
        return found


def _patterns(type_: str) -> NDArray[np.unsignedinteger]:
    if not type_.endswith("x2"):
        return instructions.patterns(type_, 3)
    low, high = (instructions.patterns(type_[:-2], seed).astype(np.uint32) for seed in (3, 7))
    return low | high << np.uint32(16)


def functions(include: Path) -> list[Declared]:
    """The functions that the headers in a folder declare, without duplicates."""
    found = dict.fromkeys(each for header in HEADERS for each in _declared(include / header))
    return list(found)


def _declared(header: Path) -> Iterator[Declared]:
    text = _COMMENT.sub("", header.read_text(encoding="utf-8", errors="replace"))
    for result, name, given in _DECLARED.findall(text):
        types = [_type(result), *(_type(each, named=True) for each in given.split(","))]
        if all(types) and not _OF_WARPS.search(name):
            yield Declared(name, types[0], tuple(types[1:]))


def _type(text: str, named: bool = False) -> str:
    """The C++ type in a declaration; empty if the type is not recognised."""
    words = " ".join(_QUALIFIER.sub("", text).split())
    for candidate in (words, words.rpartition(" ")[0]) if named else (words,):
        plain = _SPELLED.get(candidate, candidate)
        if plain in _TYPES:
            return plain
    return ""


def source(listed: Sequence[Declared]) -> str:
    """One line per function, after a line with the headers."""
    head = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    return head + "\n".join(each.kernel(f"k{n}") for n, each in enumerate(listed)) + "\n"


FIRST_LINE = 3
"""The line number of the first function in the source."""
