"""Classify a machine instruction's operands by the shape in its table row."""

from __future__ import annotations

from collections.abc import Sequence

from harness.emulator.sass.code import Instruction, Operand


class Unencodable(Exception):
    """The unknown part of an instruction."""


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
}
_KINDS["v"] = _KINDS["w"] = _KINDS["Q"] = _KINDS["d"] = _KINDS["h"] = _KINDS["s"]
_KINDS["r"] = _KINDS["k"] = ("register",)


def matched(
    shape: Sequence[str], instruction: Instruction
) -> list[tuple[str, Operand | None]]:  # fmt: skip
    """Map each part of a shape to its operand; None for a missing one.

    Raises Unencodable if the operands have another shape.
    """
    left = _joined(instruction.operands) if "h" in shape else list(instruction.operands)
    least = [sum(not part.endswith("?") for part in shape[n + 1 :]) for n in range(len(shape))]
    out: list[tuple[str, Operand | None]] = []
    for part, needed in zip(shape, least, strict=True):
        kind, optional = part[0], part.endswith("?")
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


def _joined(operands: Sequence[Operand]) -> list[Operand]:
    """Merge two immediates that form one pair of halves."""
    out: list[Operand] = []
    for operand in operands:
        if operand.kind == "immediate" and out and out[-1].kind == "immediate":
            continue
        out.append(operand)
    return out
