"""Release `alloca` memory when the function that allocated it returns.

A call to a function that uses `alloca` saves the stack's end, and every return restores it. These
operations are attributed to the call and the return, so no count changes.
"""

from __future__ import annotations

from harness.emulator.program.decode.decoder import Decoder
from harness.emulator.program.decode.stack import FREE, takes_memory
from harness.emulator.program.ir import Entry, Mark, Register, SymbolAddress, To
from harness.emulator.ptx.syntax import Function, Variable

STACK = "!stack memory"
"""The variable in local memory that holds the frames of recursive calls, or the memory from
`alloca`."""
STACK_BYTES = 1 << 15


class AllocationTranslator:
    """The part of the translator that tracks the end of a stack."""

    code: list[Entry]
    decoder: Decoder
    variables: dict[str, Variable]

    def __init__(self) -> None:
        # Return label of a call → the register with the stack's end before it.
        self.releases: dict[str, Register] = {}

    def free_before(self, site: int) -> Register:
        return self.decoder.declare(f"{FREE} before {site}", "u64")

    def keep_free(self, callee: Function, site: int, guarded: int | None) -> None:
        """Before a call to a function that uses `alloca`, save the stack's end, which the return
        restores."""
        if takes_memory(callee):
            free = self.decoder.declare(FREE, "u64")
            op = self.decoder.stack_op("mov", self.free_before(site), free, site=site)
            self.code.append((op, guarded))

    def release(self, after: str, site: int, guarded: int | None) -> None:
        """Before a return, free the memory that the function allocated."""
        if after in self.releases:
            free = self.decoder.declare(FREE, "u64")
            op = self.decoder.stack_op("mov", free, self.releases[after], site=site)
            self.code.append((op, guarded))

    def begin_stack(self, *, beside_recursion: bool) -> None:
        """Mark the whole stack as free at the kernel's first instruction, if the kernel or a
        function that it calls uses `alloca`."""
        if FREE not in self.decoder.registers:
            return
        if beside_recursion:
            self.decoder.instruction = self.decoder.allocation
            raise self.decoder.unknown("in a kernel that calls recursive functions")
        self.variables[STACK] = Variable(STACK, "local", "b8", STACK_BYTES, 16)
        first = next(i for i, entry in enumerate(self.code) if not isinstance(entry, Mark))
        targets = {label for entry in self.code if isinstance(entry, To) for label in entry.labels}
        if any(isinstance(e, Mark) and e.label in targets for e in self.code[:first]):
            first = 0  # the kernel begins with a loop, which must not repeat this
        base = SymbolAddress("local", STACK)
        op = self.decoder.stack_op("mov", self.decoder.declare(FREE, "u64"), base, site=0)
        self.code.insert(first, (op, None))
