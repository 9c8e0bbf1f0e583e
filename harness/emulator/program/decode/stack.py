"""Decode `alloca` and its stack: memory that a thread owns until the function returns.

A register holds the first free address. A function that takes memory restores that register when it
returns; `calls` ensures this.
"""

from __future__ import annotations

from harness.emulator.program.decode.operands import OperandReader
from harness.emulator.program.ir import Constant, Op, Register, Source
from harness.emulator.ptx.syntax import Function, Instruction, Number

FREE = "!stack free from"
_TAKING = ("alloca", "stackrestore")
_ALIGNMENT, _MOST_ALIGNMENT = 8, 1 << 12
_ENORMOUS = 1 << 31  # larger than any stack


def takes_memory(function: Function) -> bool:
    """Return whether a function moves the end of the stack."""
    return any(
        isinstance(s, Instruction) and s.opcode.split(".")[0] in _TAKING
        for s in function.body or ()
    )


class StackDecoder(OperandReader):
    """`alloca`, `stacksave` and `stackrestore`."""

    allocation: Instruction | None = None
    """The last decoded instruction that needs the stack, for error messages."""

    def stack_op(self, name: str, result: Register, *sources: Source, site: int = -1) -> Op:
        kinds = ("u64",) * len(sources)
        variant = ("alloca",) if name == "enter_frame" else ()
        return Op(name, variant, (result,), ("u64",), sources, kinds,
                  self.site if site < 0 else site)  # fmt: skip

    def _free_from(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> Register:
        if modifiers or types != ["u64"]:
            raise self.unknown()
        self.allocation = instruction
        return self.declare(FREE, "u64")

    def _op_alloca(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        free = self._free_from(instruction, modifiers, types)
        target, size, *more = self.given(instruction, 2, 3)
        alignment = _ALIGNMENT
        if more:
            given = more[0].value if isinstance(more[0], Number) else None
            if not isinstance(given, int) or given not in (1 << n for n in range(13)):
                raise self.unknown(f"an alignment that is no power of two up to {_MOST_ALIGNMENT}")
            alignment = given
        place, taken = (self.declare(f"!stack {name}", "u64") for name in ("place", "taken"))
        op = self.stack_op
        return [
            op("min", taken, self.source(size, "u64"), Constant(_ENORMOUS)),
            op("add", place, free, Constant(alignment - 1)),
            op("and", place, place, Constant((1 << 64) - alignment)),
            op("enter_frame", free, place, taken, Constant(0)),
            op("mov", self.register_operand(target, "u64"), place),
        ]

    def _op_stacksave(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        free = self._free_from(instruction, modifiers, types)
        (target,) = self.given(instruction, 1)
        return [self.stack_op("mov", self.register_operand(target, "u64"), free)]

    def _op_stackrestore(
        self, instruction: Instruction, modifiers: list[str], types: list[str]
    ) -> list[Op]:
        free = self._free_from(instruction, modifiers, types)
        (source,) = self.given(instruction, 1)
        return [self.stack_op("mov", free, self.source(source, "u64"))]
