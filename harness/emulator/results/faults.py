"""What a kernel did wrong while it ran."""

from __future__ import annotations

from dataclasses import dataclass

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Fault:
    """The end of a launch, as compute-sanitizer would put it.

    `kind` is one of "out of bounds", "misaligned", "read-only", "uninitialised", "race",
    "divergent barrier", "warp mask", "deadlock", "budget", "trap", "assert", "stack overflow",
    "divergence", "mbarrier".
    `file` and `line` are of the CUDA source, empty and 0 without -lineinfo. `block` and `thread`
    are (x, y, z).
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
