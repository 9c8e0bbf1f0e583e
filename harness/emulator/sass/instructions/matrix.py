"""Rows for tensor cores: products of a warp (`HMMA`, `IMMA`, `DMMA`) and of a warpgroup (`HGMMA`,
`QGMMA`, `IGMMA`).

A sparse product (`.SP`) also takes a register of metadata, and the selector of the lanes that
supply it, which a warpgroup's byte products do not have. For a warp's product, the flags hold the
number of stored elements per row instead of the depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from harness.emulator.sass.code import Instruction
from harness.emulator.sass.instructions.operand_shapes import Unencodable
from harness.emulator.sass.instructions.row import Groups, Row, row

_MATRIX: Groups = ({"F32": 0, "F16": 4}, {"BF16": 1})
# The flags of a warpgroup's product: columns in eights, operand types, type of the sums.
_FACTORS = {"F16": 0, "BF16": 1, "TF32": 2, "E4M3": 3, "E5M2": 4, "U8": 5, "S8": 6}
_HALF_SUMS, _CLAMPS = 1 << 12, 1 << 13
OF_FACTORS: Final = {"negA": 1 << 14, "negB": 1 << 15, "tnspA": 1 << 16, "tnspB": 1 << 17}
FIRST_FACTOR_IN_MEMORY: Final = 1 << 18
_SPARSE = 1 << 20


def _factors(a: str, b: str) -> int:
    return _FACTORS[a] << 6 | _FACTORS[b] << 9


def _of_warpgroups(sparse: str, always: int) -> Iterator[Row]:
    """Rows for a warpgroup's dense products, or for its sparse ones, which are twice as deep."""
    halves, words, bytes_ = (
        {f"64x{8 * n}x{depth * (2 if sparse else 1)}": n for n in range(1, 33)}
        for depth in (16, 8, 32)
    )
    shape = "R v? g v p? v _?" if sparse else "R v? g v p? _?"
    of_words = shape.replace("_?", "i _?") if sparse else shape
    sums = {"F32": 0, "F16": _HALF_SUMS}
    half_types = {"BF16": _factors("BF16", "BF16")}
    yield row(f"HGMMA{sparse}", of_words, "GMMA", (halves, sums, half_types), always=always)
    tf32 = always | _factors("TF32", "TF32")
    yield row(f"HGMMA{sparse}.F32.TF32", of_words, "GMMA", words, always=tf32)
    for name, types, kinds in (
        ("QGMMA", ("E4M3", "E5M2"), sums), ("IGMMA", ("U8", "S8"), {"SAT": _CLAMPS}),
    ):  # fmt: skip
        for a in types:
            for b in types:
                yield row(f"{name}{sparse}.{a}.{b}", shape, "GMMA", (bytes_, kinds),
                          always=always | _factors(a, b))  # fmt: skip


OPCODES: Final = frozenset({"HMMA", "IMMA", "HGMMA", "QGMMA", "IGMMA"})


_OF_NOTHING = ("RZ", "gdesc[URZ]", "RZ", "!UPT", "gsb0")


def multiplies_nothing(instruction: Instruction) -> bool:
    """Return whether a warpgroup's product has neither sums nor factors. ptxas writes one to end a
    group on a path without products."""
    return (
        instruction.opcode == "HGMMA"
        and tuple(operand.text for operand in instruction.operands) == _OF_NOTHING
    )


def check(instruction: Instruction) -> None:
    """Reject a selector that no sparse product has (Unencodable)."""
    if "SP" not in instruction.modifiers:
        return
    shape = next((each for each in instruction.modifiers if each[:1].isdigit()), "")
    if not shape:
        raise Unencodable("without a shape")
    depth = int(shape.split("x")[-1].removeprefix("168"))
    known = range(16 * (2 if "TF32" in instruction.modifiers else 4) // depth)
    if any(each.number not in known for each in instruction.operands if each.kind == "immediate"):
        raise Unencodable(f"its selector is from 0 to {known[-1]}")


def without_sign(row: Row, instruction: Instruction) -> tuple[Instruction, int]:
    """Remove the sign of a warpgroup product's first operand if it is in registers. Return the
    product and the flag that replaces the sign, or 0."""
    if row.handler != "GMMA":
        return instruction, 0
    operands = list(instruction.operands)
    is_signed = operands[1:] and operands[1].kind == "register" and operands[1].negated
    if not is_signed:
        return instruction, 0
    operands[1] = replace(operands[1], negated=False)
    return replace(instruction, operands=tuple(operands)), OF_FACTORS["negA"]


ROWS: Sequence[Row] = (
    row("HMMA.16816", "R v v v", "HMMA", _MATRIX, always=16 << 8),
    row("HMMA.1688", "R v v v", "HMMA", _MATRIX, always=8 << 8),
    row("HMMA.1688.F32.TF32", "R v v v", "HMMA", always=2 | 8 << 8),
    row("HMMA.1684.F32.TF32", "R v v v", "HMMA", always=2 | 4 << 8),
    *(
        row(
            f"IMMA.168{depth}.{a}.{b}",
            "R r k v",
            "IMMA",
            {"SAT": _CLAMPS},
            always=depth | _factors(a, b),
        )
        for depth in (16, 32)
        for a in ("U8", "S8")
        for b in ("U8", "S8")
    ),
    row("HMMA.SP.16832", "R v v v v i", "HMMA.SP", _MATRIX, always=16 << 8),
    row("HMMA.SP.16816", "R v v v v i", "HMMA.SP", _MATRIX, always=8 << 8),
    row("HMMA.SP.16816.F32.TF32", "R v v v v i", "HMMA.SP", always=2 | 8 << 8),
    row("HMMA.SP.1688.F32.TF32", "R v v v v i", "HMMA.SP", always=2 | 4 << 8),
    *(
        row(
            f"IMMA.SP.168{depth}.{a}.{b}",
            "R r k v v i",
            "IMMA.SP",
            {"SAT": _CLAMPS},
            always=depth // 2 | _factors(a, b),
        )
        for depth in (32, 64)
        for a in ("U8", "S8")
        for b in ("U8", "S8")
    ),
    row("DMMA.884", "R v v v", "DMMA"),
    row("DMMA.8x8x4", "R v v v", "DMMA"),
    *_of_warpgroups(".SP", _SPARSE),
    *_of_warpgroups("", 0),
)
