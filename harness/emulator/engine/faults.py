"""The common parts of every fault message: source line and its callers, block and thread."""

from __future__ import annotations

from posixpath import basename

from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Location
from harness.emulator.results.faults import Dim3, Fault


def fault_at(
    location: Location | None, kind: str, message: str, block: Dim3, thread: Dim3
) -> Fault:
    """Create a fault of the instruction at that location."""
    if location is None:
        return Fault(kind, message, "", 0, block, thread)
    called = callers(location, location.file)
    return Fault(kind, f"{message}{called}", location.file, location.line, block, thread)


def line_in(location: Location, file: str) -> str:
    """A line's number, with its file unless that is `file`."""
    where = "" if location.file == file else f" of {basename(location.file)}"
    return f"{location.line}{where}"


def callers(location: Location, file: str) -> str:
    """The lines that call an inlined function, from the innermost one out; empty if none does."""
    lines = []
    caller = user_line(location.inlined_at)
    while caller is not None:
        lines.append(line_in(caller, file))
        caller = user_line(caller.inlined_at)
    return f" (called in line {', from line '.join(lines)})" if lines else ""


def over_budget(budget: int) -> str:
    return (
        f"the launch reached its budget of {budget} thread instructions here; "
        "an endless loop, or raise max_thread_instructions"
    )


def index_of(number: int, extent: Dim3) -> Dim3:
    """The (x, y, z) of a block or thread that is counted with x fastest."""
    nx, ny, _ = extent
    return number % nx, number // nx % ny, number // (nx * ny)
