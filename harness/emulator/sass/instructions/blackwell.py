"""Rows for Blackwell: two-operand IADD, float pairs, three-operand FMNMX, 256-bit accesses.

A pair of floats (`F`) occupies two registers. `.F32x2.HI_LO` uses them in order, `.F32x2.LO_HI`
swaps them, and `.F32` uses one float for both, as an immediate does. A half converted to a float
(`e`) is the lower half of its register or, with `.H1`, the upper one. `R2UR.BROADCAST` is what
ptxas writes where sm_90's code has `R2UR` without a result predicate, after an `ELECT` that leaves
one lane active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.emulator.sass.code import Instruction
from harness.emulator.sass.instructions.harmless import CACHES
from harness.emulator.sass.instructions.operand_shapes import Unencodable
from harness.emulator.sass.instructions.row import Flags, Groups, Row, row

_ROUND: Flags = {"RN": 0, "RZ": 1, "RM": 2, "RP": 3}
_PAIRS: Groups = (_ROUND, {"FTZ": 4})
_WITH_HALVES: Groups = (_ROUND, {"SAT": 8}, {"BF16": 64})
_LARGEST, _OF_MAGNITUDES = 1, 2
_EXTREMES = {"MIN": 0, "MAX": _LARGEST, "MINABS": 2, "MAXABS": _LARGEST | _OF_MAGNITUDES}

OF_256_BITS: Final = ("LOAD.256", "STORE.256")
EXTREME_OF_64_BITS: Final = "IMNMX.64"
WIDE_BYTES: Final = 32
_EVERY_WORD = 255


def words_of(instruction: Instruction) -> int:
    """Return which words a 256-bit load returns, one bit each. Raises Unencodable."""
    *_, last = instruction.operands
    if last.kind == "memory" or instruction.opcode == "STG":
        return _EVERY_WORD
    if last.kind != "immediate" or not 0 < last.number <= _EVERY_WORD:
        raise Unencodable(f"operand {last.text}")
    return last.number


def check_extreme(instruction: Instruction) -> None:
    """Reject predicates that do anything but choose between minimum and maximum (Unencodable)."""
    first, second, *_, last = instruction.operands
    for operand, known in ((first, "PT"), (second, "PT"), (last, "!PT")):
        if operand.text.replace("U", "") != known:
            raise Unencodable(f"operand {operand.text}")


ROWS: Sequence[Row] = (
    row("IADD", "R s s", "ADD2"),
    row("FADD2", "R F F", groups=_PAIRS),
    row("FMUL2", "R F F", groups=_PAIRS),
    row("FFMA2", "R F F F", groups=_PAIRS),
    row("FHADD", "R e s", groups=_WITH_HALVES),
    row("FHFMA", "R e e s", groups=_WITH_HALVES),
    row("FMNMX3", "R s s s p", groups=({"NAN": 1}, {"FTZ": 4})),
    *(
        row(f"CREDUX.{name}.F32", "R v", "REDUX.FLOATS", {"NAN": 4}, always=flags, is_uniform=True)
        for name, flags in _EXTREMES.items()
    ),
    *(
        row(f"CREDUX.{name}", "R v", "REDUX", {"S32": 8}, always=flag, is_uniform=True)
        for name, flag in (("MIN", 1), ("MAX", 2))
    ),
    *(
        row(f"IMNMX.{sign}64", "P P R Q Q p p", EXTREME_OF_64_BITS, always=flag)
        for sign, flag in (("S", 0), ("U", 1))
    ),
    row("VIMNMX.U8x4", "R P? P? v v p", "IMNMX.BYTES"),
    row("VIADD.U8x4", "R s s", "ADD2.BYTES"),
    row("LDG.ENL2.256", "R R m _?", OF_256_BITS[0], ({"E": 0},), harmless=CACHES),
    row("STG.ENL2.256", "m v v", OF_256_BITS[1], ({"E": 0},), harmless=CACHES),
    row("R2UR.BROADCAST", "R v", "R2UR", is_uniform=True),
    row("RPCMOV.32", "R v", "MOV"),
    row("CS2UR", "R x", "S2R", always=1 << 8, is_uniform=True),
    row("CS2UR.32", "R x", "S2R", is_uniform=True),
)
