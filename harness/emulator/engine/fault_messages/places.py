"""The parts common to all fault messages: the source line and its callers, the block and the
thread."""

from __future__ import annotations

from dataclasses import dataclass
from posixpath import basename

from harness.emulator.engine import layout
from harness.emulator.memory.address_space import AddressSpace
from harness.emulator.memory.shared_variables import SharedVariables
from harness.emulator.program.ir import Program
from harness.emulator.ptx.source_lines import user_line
from harness.emulator.ptx.syntax import Location
from harness.emulator.results.faults import Dim3, Fault

VERBS = {layout.READ: "read", layout.WRITE: "write", layout.UPDATE: "atomic"}


def fault_at(
    location: Location | None, kind: str, message: str, block: Dim3, thread: Dim3
) -> Fault:
    """Create a fault for the instruction at a location."""
    if location is None:
        return Fault(kind, message, "", 0, block, thread)
    called = callers(location, location.file)
    return Fault(kind, f"{message}{called}", location.file, location.line, block, thread)


def line_in(location: Location, file: str) -> str:
    """A line's number, preceded by its file's name unless the file is `file`."""
    where = "" if location.file == file else f" of {basename(location.file)}"
    return f"{location.line}{where}"


def callers(location: Location, file: str) -> str:
    """The lines that call an inlined function, innermost first; empty if it was not inlined."""
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
    """The (x, y, z) of a linear block or thread index, with x fastest."""
    nx, ny, _ = extent
    return number % nx, number // nx % ny, number // (nx * ny)


@dataclass(frozen=True)
class Launched:
    """A launch's shape and buffers, and the names that messages use for parts of them."""

    grid: Dim3
    block: Dim3
    memory: AddressSpace

    def line(self, site: int, beside: int) -> str:
        """Name an instruction's line and its callers, and the file unless the instruction `beside`
        is in the same one."""
        raise NotImplementedError

    def opcode(self, site: int) -> str:
        """The instruction's name."""
        raise NotImplementedError

    def line_of_ending(self, number: int, beside: int) -> str:
        """The line of the barrier that the judge identifies by this number."""
        raise NotImplementedError

    def name(self, memory: int) -> str:
        """Name a buffer by its number, or the memory of a block or thread."""
        names = {layout.SHARED_MEMORY: "shared memory", layout.LOCAL_MEMORY: "local memory"}
        return names.get(memory) or self.memory.allocations[memory].name

    def position(self, at: int, memory: int, site: int) -> str:
        """Name a byte of a buffer, or of a block's or thread's memory, by the variable or member
        that the instruction accesses there."""
        if memory == layout.SHARED_MEMORY:
            return self.shared_variables().at(at, self.user_line(site))
        if memory == layout.LOCAL_MEMORY:
            return f"offset {at} of local memory"
        return self.memory.allocations[memory].position(at)

    def shared_variables(self) -> SharedVariables:
        """The known variables in shared memory."""
        raise NotImplementedError

    def user_line(self, site: int) -> Location | None:
        """The line of the user's source that an instruction belongs to."""
        raise NotImplementedError

    def thread(self, number: int) -> str:
        return f"thread {index_of(number, self.block)}"

    def block_of(self, number: int) -> str:
        """Return the start of a clause that names another block; empty for a negative number, which
        stands for the same block."""
        return "" if number < 0 else f"block {index_of(number, self.grid)}, "


@dataclass(frozen=True)
class Place(Launched):
    """The launch of a PTX program, and the names that messages use for parts of it."""

    program: Program

    def line(self, site: int, beside: int) -> str:
        where, other = (self.program.sites[each] for each in (site, beside))
        if where.location is None:
            return f"? (PTX line {where.ptx_line})"
        file = other.location.file if other.location else ""
        return line_in(where.location, file) + callers(where.location, file)

    def shared_variables(self) -> SharedVariables:
        return SharedVariables(self.program.shared)

    def user_line(self, site: int) -> Location | None:
        return user_line(self.program.sites[site].location)

    def opcode(self, site: int) -> str:
        return self.program.sites[site].opcode

    def line_of_ending(self, number: int, beside: int) -> str:
        return self.line(getattr(self.program.blocks[number].terminator, "site", 0) or 0, beside)
