"""What a kernel did wrong while it ran."""

from __future__ import annotations

from dataclasses import dataclass

from harness.emulator.active import Active
from harness.emulator.ptx import Location

Dim3 = tuple[int, int, int]


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


def fault_at(
    location: Location | None, kind: str, message: str, block: Dim3, thread: Dim3
) -> Fault:
    """A fault of the instruction that stands there."""
    file, line = (location.file, location.line) if location else ("", 0)
    return Fault(kind, message, file, line, block, thread)


def over_budget(budget: int) -> str:
    return (
        f"the launch reached its budget of {budget} thread instructions here; "
        "an endless loop, or raise max_thread_instructions"
    )


def index_of(number: int, extent: Dim3) -> Dim3:
    """The (x, y, z) of a block or thread that is counted with x fastest."""
    nx, ny, _ = extent
    return number % nx, number // nx % ny, number // (nx * ny)


class KernelFault(Exception):
    """Carries a fault from where it is found to the launch, which fills in the rest."""

    def __init__(self, kind: str, message: str, site: int, lanes: Active, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.site = site
        self.lanes = lanes
        self.position = position
