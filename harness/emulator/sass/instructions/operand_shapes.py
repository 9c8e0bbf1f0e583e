"""Classify a machine instruction's operands by the shape in its table row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from harness.emulator.sass.code import ZERO, Instruction, Operand
from harness.emulator.sass.layout import PREDICATES_OF_EACH_KIND

ALWAYS = PREDICATES_OF_EACH_KIND - 1
"""The number of the predicate that is always true."""


class Unencodable(Exception):
    """Raised with the part of an instruction that is unknown."""


_KINDS = {
    "R": ("register", "uniform"),
    "P": ("predicate", "uniform predicate"),
    "p": ("predicate", "uniform predicate"),
    "n": ("predicate", "uniform predicate"),
    "S": ("predicate", "uniform predicate", "register", "uniform"),
    "s": ("register", "uniform", "immediate", "constant"),
    "i": ("immediate",),
    "m": ("memory",),
    "t": ("memory",),
    "c": ("constant",),
    "b": ("barrier",),
    "B": ("barrier",),
    "l": ("immediate", "name"),
    "x": ("special",),
    "g": ("descriptor",),
    "y": ("register",),
    "Y": ("register",),
    "z": ("immediate", "uniform"),
    "q": ("name",),
    "A": ("memory",),
    "F": ("register", "uniform", "immediate"),
    "e": ("register", "uniform"),
    "T": ("memory",),
    "N": ("memory",),
    "H": ("hint",),
}
_KINDS["v"] = _KINDS["w"] = _KINDS["Q"] = _KINDS["d"] = _KINDS["h"] = _KINDS["s"]
_KINDS["r"] = _KINDS["k"] = ("register",)


def matched(
    shape: tuple[str, ...], instruction: Instruction
) -> list[tuple[str, Operand | None]]:  # fmt: skip
    """Map each part of a shape to its operand; None for a missing one.

    Raises Unencodable if the operands have a different shape.
    """
    left = _joined(instruction.operands) if "h" in shape else list(instruction.operands)
    out: list[tuple[str, Operand | None]] = []
    for kind, optional, needed in _parts(shape):
        fits = bool(left) and (kind == "_" or left[0].kind in _KINDS[kind])
        if fits and (not optional or len(left) > needed):
            out.append((kind, left.pop(0)))
        elif optional:
            out.append((kind, None))
        else:
            raise Unencodable("operands of another form")
    if left:
        raise Unencodable("operands of another form")
    return [pair for pair in out if pair[0] != "_"]


@cache
def _parts(shape: tuple[str, ...]) -> list[tuple[str, bool, int]]:
    """The kind of each part, whether it may be missing, and how many of the parts after it are
    mandatory."""
    is_needed = [not part.endswith("?") for part in shape]
    return [(p[0], not is_needed[n], sum(is_needed[n + 1 :])) for n, p in enumerate(shape)]


def _joined(operands: Sequence[Operand]) -> list[Operand]:
    """Merge two immediates that form one pair of halves."""
    out: list[Operand] = []
    for operand in operands:
        if operand.kind == "immediate" and out and out[-1].kind == "immediate":
            continue
        out.append(operand)
    return out


def all_operands(instruction: Instruction) -> list[Operand]:
    """Operands, and the registers of their addresses."""
    found = []
    for operand in instruction.operands:
        found += [operand, *(part for part in (operand.base, operand.uniform) if part)]
    return found


def is_numbered(operand: Operand, kind: str) -> bool:
    """Return whether a register is an ordinary one, not the one that reads as 0."""
    return operand.kind == kind and operand.number != ZERO


def predicate(operand: Operand | None) -> tuple[int, int]:
    """The index of a predicate (uniform predicates are numbered after the others), and whether it
    is negated."""
    if operand is None:
        return ALWAYS, 0
    number = ALWAYS if operand.number == ZERO else operand.number
    if operand.kind == "uniform predicate":
        number += PREDICATES_OF_EACH_KIND
    elif operand.kind != "predicate":
        raise Unencodable(f"operand {operand.text}")
    if number >= 2 * PREDICATES_OF_EACH_KIND or operand.number not in (*range(ALWAYS), ZERO):
        raise Unencodable(f"operand {operand.text}")
    return number, int(operand.negated)
