"""Faults in a kernel's execution."""

from __future__ import annotations

from dataclasses import dataclass

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Fault:
    """The error that ended a launch, as compute-sanitizer would report it.

    `kind` is one of "out of bounds", "misaligned", "read-only", "uninitialised", "race", "divergent
    barrier", "warp mask", "deadlock", "budget", "trap", "assert", "stack overflow", "divergence",
    "mbarrier", "tensor map", "cluster", "wgmma". `file` and `line` refer to the CUDA source, and
    are empty and 0 without -lineinfo. `block` and `thread` are (x, y, z).
    """

    kind: str
    message: str
    file: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return (
            f"{self.file or '<no line info>'}:{self.line}: {self.kind}: {self.message} "
            f"(block {self.block}, thread {self.thread})"
        )
