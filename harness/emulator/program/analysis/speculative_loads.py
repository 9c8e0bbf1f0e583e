"""Find loads that the compiler added and that must not be reported as faults.

A load from a variable's own fixed address cannot fail, so the compiler may execute it where the
source would not, and discard the result with a select.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.emulator.program.analysis.liveness import EFFECTS
from harness.emulator.program.ir import (
    Constant,
    Op,
    Program,
    SymbolAddress,
    successors,
    terminator_reads,
)

_Place = tuple[int, int]  # basic block, index of an operation in it


def speculative_loads(program: Program) -> frozenset[int]:
    """The sites of loads from a fixed address whose values are used only in selects, or not at
    all."""
    found = _Loads(program)
    places: dict[int, list[_Place]] = {}
    for number, block in enumerate(program.blocks):
        for i, op in enumerate(block.ops):
            if op.name == "ld":
                places.setdefault(op.site, []).append((number, i))
    return frozenset(site for site, each in places.items() if all(map(found.only_selected, each)))


class _Loads:
    """The loads of a program, and the uses of their results."""

    def __init__(self, program: Program) -> None:
        self._blocks = program.blocks

    def _op(self, place: _Place) -> Op:
        return self._blocks[place[0]].ops[place[1]]

    def only_selected(self, place: _Place) -> bool:
        """Return whether an operation is a load from a fixed address whose result is used only by
        selects, if at all.
        """
        load = self._op(place)
        if not isinstance(load.sources[0], (SymbolAddress, Constant)):
            return False
        todo = [(register.slot, place) for register in load.registers_written()]
        seen = set(todo)
        while todo:
            for user, operand in self._users(*todo.pop()):
                if user is None:
                    return False
                op = self._op(user)
                if op.name == "selp" and operand < 2:
                    continue
                if op.name in EFFECTS or not op.results:
                    return False
                more = {(register.slot, user) for register in op.registers_written()} - seen
                seen |= more
                todo += more
        return True

    def _users(self, slot: int, place: _Place) -> Iterator[tuple[_Place | None, int]]:
        """Yield the readers of a register's value after an operation: (position, index of the
        operand). The position is None for a branch."""
        todo = [(place[0], place[1] + 1)]
        seen: set[int] = set()
        while todo:
            number, first = todo.pop()
            block = self._blocks[number]
            for i in range(first, len(block.ops)):
                op = block.ops[i]
                for operand, source in enumerate(op.sources):
                    if getattr(source, "slot", None) == slot:
                        yield (number, i), operand
                if any(register.slot == slot for register in op.registers_written()):
                    break
            else:
                if any(register.slot == slot for register in terminator_reads(block.terminator)):
                    yield None, 0
                for target in successors(block.terminator):
                    if target not in seen:
                        seen.add(target)
                        todo.append((target, 0))
