"""A compiled kernel's parameters, read from its declaration in the PTX."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)")
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)(?:\s+\.ptr[^,]*?)?\s+([\w$]+)(\[\d+\])?"
)


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter. `type`: its PTX type, such as u64, f32, or b8[24] for a structure."""

    name: str
    type: str


def kernel_parameters(ptx: str) -> dict[str, list[Parameter]]:
    """Map each kernel's symbol to its parameters, in order."""
    return {
        entry[1]: [Parameter(p[2], p[1] + (p[3] or "")) for p in _PARAM.finditer(entry[2])]
        for entry in _ENTRY.finditer(ptx)
    }
