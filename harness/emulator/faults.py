"""What a kernel did wrong while it ran."""

from __future__ import annotations

from dataclasses import dataclass

from harness.emulator.active import Active


@dataclass(frozen=True)
class Fault:
    """The end of a launch, as compute-sanitizer would put it.

    `kind` is one of "out of bounds", "misaligned", "read-only", "uninitialised", "race",
    "divergent barrier", "warp mask", "deadlock", "budget", "trap", "assert", "stack overflow",
    "divergence".
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


class KernelFault(Exception):
    """Carries a fault from where it is found to the launch, which fills in the rest."""

    def __init__(self, kind: str, message: str, site: int, lanes: Active, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.site = site
        self.lanes = lanes
        self.position = position
