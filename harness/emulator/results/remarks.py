"""What a launch did that deserves a word, and is no fault."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """`count`: how often; `file` and `line` are of the CUDA source, empty and 0 without them."""

    message: str
    file: str
    line: int
    count: int

    def __str__(self) -> str:
        return f"{self.file or '<no line info>'}:{self.line}: {self.message} ({self.count} times)"
