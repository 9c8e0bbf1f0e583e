"""A compiled kernel's parameters, read from the head of its PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)(?:\s+\.ptr[^,]*?)?\s+([\w$]+)(\[\d+\])?"
)


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter.

    type: its PTX type, such as u64, f32, or b8[24] for a structure. align: the bytes on whose
    multiple it lies, of a structure; 0 for a number, which lies on a multiple of its size.
    """

    name: str
    type: str
    align: int = 0


def kernel_parameters(ptx: str) -> dict[str, list[Parameter]]:
    """Map each kernel's symbol to its parameters, in order."""
    return {
        entry[1]: [
            Parameter(p[3], p[2] + (p[4] or ""), int(p[1] or 0)) for p in _PARAM.finditer(entry[2])
        ]
        for entry in _ENTRY.finditer(ptx)
    }
