"""The common parts of every fault message: source line, block and thread."""

from __future__ import annotations

from harness.emulator.ptx.syntax import Location
from harness.emulator.results.faults import Dim3, Fault


def fault_at(
    location: Location | None, kind: str, message: str, block: Dim3, thread: Dim3
) -> Fault:
    """Create a fault of the instruction at that location."""
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
