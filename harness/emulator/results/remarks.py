"""Noteworthy events in a launch that are not faults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """One kind of event at one source line. `count`: how often it occurred; `file` and `line` refer
    to the CUDA source, and are empty and 0 if unknown."""

    message: str
    file: str
    line: int
    count: int

    def __str__(self) -> str:
        return f"{self.file or '<no line info>'}:{self.line}: {self.message} ({self.count} times)"
