"""Rows for tensor cores: products of a warp (`HMMA`, `IMMA`, `DMMA`) and of a warpgroup (`HGMMA`,
`QGMMA`, `IGMMA`).

A sparse product (`.SP`) also takes a register of metadata, and the selector of the lanes whose
metadata count. In place of its depth, the flags hold the number of stored elements in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.emulator.sass.instructions.row import Groups, Row, row

_MATRIX: Groups = ({"F32": 0, "F16": 4}, {"BF16": 1})
# For a warpgroup's product: columns in eights, types of the operands, type of the sums.
_COLUMNS, _COLUMNS_OF_WORDS, _COLUMNS_OF_BYTES = (
    {f"64x{8 * n}x{depth}": n for n in range(1, 33)} for depth in (16, 8, 32)
)
_FACTORS = {"F16": 0, "BF16": 1, "TF32": 2, "E4M3": 3, "E5M2": 4, "U8": 5, "S8": 6}
_HALF_SUMS, _CLAMPS = 1 << 12, 1 << 13
OF_FACTORS: Final = {"negA": 1 << 14, "negB": 1 << 15, "tnspA": 1 << 16, "tnspB": 1 << 17}
FIRST_FACTOR_IN_MEMORY: Final = 1 << 18


def _factors(a: str, b: str) -> int:
    return _FACTORS[a] << 6 | _FACTORS[b] << 9


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
    row(
        "HGMMA",
        "R v? g v p? _?",
        "GMMA",
        (_COLUMNS, {"F32": 0, "F16": _HALF_SUMS}, {"BF16": _factors("BF16", "BF16")}),
    ),
    row(
        "HGMMA.F32.TF32",
        "R v? g v p? _?",
        "GMMA",
        _COLUMNS_OF_WORDS,
        always=_factors("TF32", "TF32"),
    ),
    *(
        row(
            f"QGMMA.{a}.{b}",
            "R v? g v p? _?",
            "GMMA",
            (_COLUMNS_OF_BYTES, {"F32": 0, "F16": _HALF_SUMS}),
            always=_factors(a, b),
        )
        for a in ("E4M3", "E5M2")
        for b in ("E4M3", "E5M2")
    ),
    *(
        row(
            f"IGMMA.{a}.{b}",
            "R v? g v p? _?",
            "GMMA",
            (_COLUMNS_OF_BYTES, {"SAT": _CLAMPS}),
            always=_factors(a, b),
        )
        for a in ("U8", "S8")
        for b in ("U8", "S8")
    ),
)
