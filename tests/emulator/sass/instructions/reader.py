"""The sources of a machine instruction as numbers: words, floats, pairs of halves."""

from __future__ import annotations

from typing import Any

import numpy as np
from one_by_one import LANES, State

from harness.emulator.sass.code import Instruction, Operand

Wide = Any  # Python integers in an array, which do not overflow
WORD = (1 << 32) - 1
_FULL = (1 << 64) - 1


class Reader:
    """The sources of an instruction, in order, as numbers of one kind."""

    def __init__(self, each: Instruction, state: State) -> None:
        self.state, self.each = state, each
        kinds = [operand.kind for operand in each.operands]
        first = next((n for n, kind in enumerate(kinds) if "predicate" not in kind), 0)
        leading = 0 if first and kinds[0] != "register" else 1
        while leading < len(kinds) and "predicate" in kinds[leading]:
            leading += 1
        if "SETP" in each.opcode or each.opcode == "FCHK":
            leading = next(n for n, kind in enumerate(kinds) if "predicate" not in kind)
        elif "PLOP3" in each.opcode:
            leading = 2
        elif each.opcode == "IMNMX" and "predicate" in kinds[0]:
            leading = 3
        elif "predicate" in kinds[0] and "LOP3" in each.opcode:
            leading = first + 1
        self.results, rest = each.operands[:leading], each.operands[leading:]
        self.sources = [o for o in rest if "predicate" not in o.kind]
        if each.opcode.startswith("H"):  # two immediates are the halves of one operand
            pairs = zip([None, *self.sources], self.sources, strict=False)
            self.sources = [o for before, o in pairs if not _follows(before, o)]
        self.predicates = [o for o in rest if "predicate" in o.kind]

    def has(self, *modifiers: str) -> bool:
        return all(modifier in self.each.modifiers for modifier in modifiers)

    def p(self, at: int = 0) -> Any:
        return self.state.holds(self.predicates[at])

    def u(self, at: int) -> Wide:
        """32 bits as an unsigned number; a minus sign means the two's complement, as for
        carries."""
        operand = self.sources[at]
        value = self.state.word(operand).astype(object)
        if operand.inverted:
            return WORD - value
        return value if not operand.negated else (WORD - value) + 1

    def s(self, at: int) -> Wide:
        value = self.u(at) & WORD
        return np.where(value >> 31 == 1, value - (1 << 32), value)

    def number(self, at: int) -> Wide:
        return self.u(at) & WORD if self.has("U32") or self.has("U64") else self.s(at)

    def q(self, at: int) -> Wide:
        """The 64 bits of two registers; an immediate has the bits as written."""
        operand = self.sources[at]
        low, high = (self.state.word(operand, n).astype(object) for n in (0, 1))
        value = low | high << 32
        return (-value if operand.negated else value) & _FULL

    def f(self, at: int) -> Any:
        return _signed(self.state.word(self.sources[at]).view(np.float32), self.sources[at])

    def d(self, at: int) -> Any:
        operand = self.sources[at]
        low, high = self.state.word(operand), self.state.word(operand, 1)
        if operand.kind == "immediate":
            low, high = np.zeros(LANES, np.uint32), low
        both = np.stack([low, high], axis=1)
        return _signed(np.ascontiguousarray(both).view(np.float64)[:, 0], operand)

    def h(self, at: int) -> Any:
        """Two halves of each lane, selected by the suffix."""
        operand = self.sources[at]
        words = self.state.word(operand)
        if operand.suffixes == ("F32",):
            both = _towards_zero(words.view(np.float32))
            return _signed(np.stack([both, both], axis=1), operand)
        both = words.view(np.float16).reshape(LANES, 2).astype(np.float64)
        if self.has("BF16_V2"):
            both = np.stack([words << np.uint32(16), words & np.uint32(0xFFFF0000)], axis=1)
            both = both.view(np.float32).astype(np.float64)
        for suffix, which in (("H0_H0", [0, 0]), ("H1_H1", [1, 1])):
            both = both[:, which] if suffix in operand.suffixes else both
        return _signed(both, operand)


def _towards_zero(value: Any) -> Any:
    """The nearest half whose magnitude does not exceed that of a float."""
    with np.errstate(over="ignore"):
        near = value.astype(np.float16)
    beyond = np.abs(near.astype(float)) > np.abs(value.astype(float))
    return np.where(beyond, np.nextafter(near, np.float16(0)), near).astype(np.float64)


def _follows(before: Operand | None, operand: Operand) -> bool:
    return before is not None and before.kind == operand.kind == "immediate"


def _signed(value: Any, operand: Operand) -> Any:
    value = np.abs(value) if operand.absolute else value
    return -value if operand.negated else value
