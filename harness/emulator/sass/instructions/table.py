"""The table of machine instructions that can be executed: one row each.

A row has the opcode with the modifiers that select it, the shape of its operands, the effects of
its other modifiers, and the name of its definition in `machine/*.cpp`. `lookup.py` finds an
instruction's row.

A modifier is either implemented, by setting a flag or a width, or known to change no result
(`harmless.py` gives the reason). Any other modifier is rejected, and so are two of one group.

Shapes: R result, P result predicate; s, w, d, h sources: 32 bits, 64 bits, a double, halves; Q 64
bits whose immediate is written whole, where w has the lower half of one, with its sign; v a source
of 32 bits or more that is used unchanged (one with a sign is not executed); p source predicate, n
the same, false if missing, S one or a register's sign; i immediate; m memory, t the target of a
copy, c constant memory; g matrix descriptor; r, k a matrix operand by rows, by columns; b
convergence barrier, B one that it is moved to; l label; x special register; _ not used. For
textures and surfaces: y consecutive registers, A the register of coordinates, q the kind; z and Y
are a handle or channels (textures.py); F and e are in blackwell.py, T and H in hopper.py. `?` marks
an optional operand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.emulator.sass import layout
from harness.emulator.sass.instructions import blackwell, hopper, matrix, textures
from harness.emulator.sass.instructions.harmless import (
    AWAKES,
    CACHES,
    EXACT,
    FLUSHED,
    FORMS,
    MEETING,
    NEAREST,
    ORDERS,
    PIPES,
    PREFETCHES,
    SAME_LOW_BITS,
    SCHEDULING,
    TURING,
)
from harness.emulator.sass.instructions.row import Flags, Groups, Row
from harness.emulator.sass.instructions.row import row as _row

OF_COPIES: Final = "SB0"
"""The scoreboard that counts groups of asynchronous copies."""

_COMPARE = {"F": 0, "LT": 1, "EQ": 2, "LE": 3, "GT": 4, "NE": 5, "GE": 6, "T": 7}
_COMBINE = {"AND": 0, "OR": 16, "XOR": 32}
_OF_INTEGERS: Groups = (_COMPARE, _COMBINE, {"U32": 64}, {"EX": 128})
# For floats, the names with U are also true if the operands are unordered.
_OF_FLOATS: Groups = (
    {
        **_COMPARE, **{f"{n}U": 8 | flag for n, flag in _COMPARE.items() if n not in "FT"},
        "NUM": 7, "NAN": 8, "T": 15,
    },
    _COMBINE,
)  # fmt: skip
_ROUND = {"RN": 0, "RZ": 1, "RM": 2, "RP": 3}
_ARITHMETIC: Groups = (_ROUND, {"FTZ": 4}, {"SAT": 8})
_SCALES: Flags = {n: i << 4 for i, n in enumerate(("D2", "D4", "D8", "M8", "M4", "M2"), start=1)}
_BRAINS: Groups = ({"SAT": 4, "RELU": 8},)
_HALVES: Groups = (*_BRAINS, {"FTZ": 16})
_EXTREME: Groups = ({"U32": 1, "S32": 0, "S16x2": 2, "U16x2": 3}, {"RELU": 4})
_SHUFFLES = {"IDX": 0, "UP": 1, "DOWN": 2, "BFLY": 3}
INTEGER_TYPES = {"U8": 0, "S8": 1, "U16": 2, "S16": 3, "U32": 4, "S32": 5, "U64": 6, "S64": 7}
FLOAT_TYPES = {"F16": 8, "BF16": 9, "F32": 10, "F64": 11}
_WAYS = {"RN": 0, "RZ": 1, "TRUNC": 1, "RM": 2, "FLOOR": 2, "RP": 3, "CEIL": 3}
_WAYS_OF_CONVERSION = {name: flag << 8 for name, flag in _WAYS.items()}
_FLUSH, _NAN_TO_ZERO = {"FTZ": 1 << 12}, {"NTZ": 1 << 13}

CALL_OF_DRIVER: Final = "CALL.ABS.NOINC"
RELATIVE_CALL: Final = "CALL.REL.NOINC"
SYSTEM: Final = "SYSTEM"
ALLOCATION: Final = "malloc"
FUNCTIONS_OF_DRIVER: Final = {
    "vprintf": layout.VPRINTF, ALLOCATION: layout.MALLOC, "free": layout.FREE,
    "__assertfail": layout.ASSERTFAIL,
}  # fmt: skip
"""Driver functions that may be called, each with the number that stands for its address."""
_COPY_BY_DRIVER: Final = "__cuda_syscall_cp_async_bulk_"
"""The prefix of the functions that copy to another block's shared memory for sm_120's code, which
calls them only if the copy's destination is another block. Only a kernel that reaches such a call
is refused."""


def address_of_function(name: str) -> int:
    """Return the number that stands for a driver function's address; 0 if it must not be called."""
    if name.startswith(_COPY_BY_DRIVER):
        return layout.BULK_COPY
    return FUNCTIONS_OF_DRIVER.get(name, 0)


CONVERSIONS: Final = frozenset({"I2F", "F2I", "F2F", "FRND"})


def _narrows(source: str, to: str) -> bool:
    """Return whether a number of one float type may lie between two neighbouring numbers of
    another."""
    return source == "F64" or to in ("F16", "BF16")


def of_double(flags: int) -> bool:
    """Return whether a conversion with these flags is from double precision."""
    return flags & 15 == FLOAT_TYPES["F64"]


def bytes_of_atomic(flags: int) -> int:
    """The size of the value that an atomic with these flags changes."""
    return math.prod(map(int, _ATOMIC_BITS[(flags & _ATOMIC_TYPE_BITS) >> 4])) // 8


_TO_INTEGERS = {name: flag << 4 for name, flag in INTEGER_TYPES.items()}


def _types(source: Flags, target: Flags) -> Groups:
    """The source and destination types of a conversion."""
    return source, {name: flag << 4 for name, flag in target.items()}


_LENGTHS = {"U8": 0, "S8": 0, "U16": 0, "S16": 0, "64": 0, "128": 0}
"""Types of stored values. encode.py reads these, and also `.E`, which marks 64-bit addresses."""
_LOAD: Groups = ({**_LENGTHS, "S8": 1, "S16": 1}, {"E": 0})
_CONSTANT: Groups = ({"U8": 0, "U16": 0, "64": 0, "128": 0, "S8": 1, "S16": 1},)
_STORE: Groups = (_LENGTHS, {"E": 0})
_ATOMICS = {
    "ADD": 0, "MIN": 1, "MAX": 2, "INC": 3, "DEC": 4, "AND": 5, "OR": 6, "XOR": 7, "EXCH": 8,
    "CAS": 9, "POPC": 10, "CAST": 11,
}  # fmt: skip
_OF_ATOMICS = {"U32": 0, "S32": 1, "64": 2, "U64": 2, "S64": 3}
_HALVES_OF_ATOMICS = {
    "F16x2": 6, "BF16x2": 7, "F16x4": 12, "F16x8": 13, "BF16x4": 14, "BF16x8": 15,
}  # fmt: skip
_FLOATS_OF_ATOMICS = {"F32": 4, "F64": 5, "F32x2": 10, "F32x4": 11, **_HALVES_OF_ATOMICS}
_ATOMIC_TYPE_BITS = 15 << 4
_ATOMIC_BITS = {
    flag: name.lstrip("BFSU").split("x")
    for name, flag in (_OF_ATOMICS | _FLOATS_OF_ATOMICS).items()
}
"""Type of an atomic, as its flag → the bits of an element and, for a vector, its elements."""
_ATOMIC: Groups = (_ATOMICS, {name: flag << 4 for name, flag in _OF_ATOMICS.items()}, {"E": 0})
SPECIALS = {
    "SRZ": 0, "SR_TID.X": 1, "SR_TID.Y": 2, "SR_TID.Z": 3, "SR_CTAID.X": 4, "SR_CTAID.Y": 5,
    "SR_CTAID.Z": 6, "SR_LANEID": 7, "SR_SWINHI": 8, "SR_EQMASK": 9, "SR_LTMASK": 10,
    "SR_LEMASK": 11, "SR_GTMASK": 12, "SR_GEMASK": 13, "SR_CLOCKLO": 14, "SR_CLOCKHI": 16,
    "SR_GLOBALTIMERLO": 14, "SR_GLOBALTIMERHI": 16,
    "SR_LWINHI": 15, "SR_SWINLO": 0, "SR_LWINLO": 0, "SR_CgaCtaId": 17, "SR_CgaSize": 0,
}  # fmt: skip
"""Special registers by the number of their definition; number 0 reads as 0."""


def _atomics(opcode: str, shape: str, **more: Any) -> Iterator[Row]:
    """Yield the rows of an atomic: all operations on integers, sums of floats, and extremes of
    halves."""
    yield _row(opcode, shape, "ATOMIC", _ATOMIC, harmless=CACHES | FORMS, **more)
    always = more.pop("always", 0)
    for operation in ("ADD", "MIN", "MAX"):
        types = _FLOATS_OF_ATOMICS if operation == "ADD" else _HALVES_OF_ATOMICS
        for name, flag in types.items():
            harmless = CACHES | NEAREST | (FLUSHED if name.startswith("F32") else {})
            yield _row(f"{opcode}.{operation}.{name}", shape, "ATOMIC", {"E": 0}, harmless=harmless,
                       always=always | _ATOMICS[operation] | flag << 4, **more)  # fmt: skip


ROWS: Sequence[Row] = (
    # Integers
    _row("IADD3", "R P? P? s s s"),
    _row("IADD3.64", "R P? P? Q Q Q"),
    _row("IADD.64", "R Q Q", "ADD2.64"),
    _row("IADD3.X", "R P? P? s s s n? n?", "IADD3.CARRY", always=1),
    _row("VIADD", "R s s", "ADD2"),
    _row("VIADD.16x2", "R s s", "ADD2.HALVES"),
    _row("VABSDIFF", "R s s s", "ABSDIFF", {"U32": 1}),
    _row("VABSDIFF4.U8", "R s s s", "ABSDIFF4"),
    _row("VABSDIFF4.U8.ACC", "R s s s", "ABSDIFF4", always=1),
    _row("IMAD", "R s s s", harmless=FORMS | SAME_LOW_BITS),
    _row("IMAD.X", "R s s s n?", "IMAD", always=2, harmless=FORMS | SAME_LOW_BITS),
    _row("IMAD.WIDE", "R P? s s w", groups={"U32": 1}),
    _row("IMAD.WIDE.X", "R P? s s w n?", "IMAD.WIDE", {"U32": 1}, always=2),
    _row("IMAD.HI", "R P? s s w", groups={"U32": 1}),
    _row("LEA", "R P? s s i"),
    _row("LEA.HI", "R P? s s s i"),
    _row("LEA.HI.X", "R P? s s s i n?", "LEA.HI", always=1),
    _row("LEA.HI.SX32", "R P? s s i", "LEA.HI", always=2),
    _row("LEA.HI.X.SX32", "R P? s s i n?", "LEA.HI", always=3),
    _row("SHF", "R s s s", "", (
        {"L": 0, "R": 1}, {"U32": 0, "S32": 4, "U64": 16, "S64": 20}, {"HI": 2}, {"W": 8})),
    _row("LOP3.LUT", "P? R s s s i n?", "LOP3"),
    _row("PLOP3.LUT", "P P? S S S i i", "PLOP3"),
    _row("ISETP", "P P? s s p p?", groups=_OF_INTEGERS),
    *(_row(f"ISETP.{sign}64", "P P? Q Q p", "ISETP.64", (_COMPARE, _COMBINE), always=flag)
      for sign, flag in (("S", 0), ("U", 64))),
    _row("SEL", "R s s p"),
    _row("SEL.64", "R Q Q p"),
    _row("IMNMX", "R s s p", groups=_EXTREME),
    _row("VIMNMX", "R P? P? s s p", "IMNMX", _EXTREME),
    _row("VIMNMX3", "R P? P? s s s p", "IMNMX3", _EXTREME),
    _row("VIADDMNMX", "R P? P? s s s p", groups=_EXTREME),
    _row("MOV", "R s i?"),
    _row("MOV.64", "R Q"),
    _row("IABS", "R s"),
    *(
        _row(f"IDP.{form}.{a}{bits}.{b}8", "R s s s", "IDP",
             always=how | (a == "S") | (b == "S") << 1)
        for form, bits, how in (("4A", 8, 0), ("2A.LO", 16, 4), ("2A.HI", 16, 12))
        for a in "US" for b in "US"
    ),
    _row("POPC", "R s"),
    _row("BREV", "R s"),
    _row("FLO", "R P? s", groups=({"U32": 1}, {"SH": 2})),
    _row("PRMT", "R s s s"),
    _row("SGXT", "R s s", groups={"U32": 1, "S32": 0}),
    _row("BMSK", "R s s", harmless=FORMS),
    _row("P2R", "R s i", groups={"B1": 1, "B2": 2, "B3": 3}),
    _row("R2P", "_? s i"),  # nvdisasm's JSON leaves out PR
    # Single and double precision
    _row("FADD", "R s s", groups=_ARITHMETIC),
    _row("FMUL", "R s s", groups=(*_ARITHMETIC, _SCALES)),
    _row("FFMA", "R s s s", groups=_ARITHMETIC),
    _row("FSETP", "P P? s s p", groups=(*_OF_FLOATS, {"FTZ": 64})),
    _row("FSET.BF", "R s s p", "FSET", _OF_FLOATS),
    _row("FSEL", "R s s p", "SEL"),
    _row("FMNMX", "R s s p", groups=({"NAN": 1}, {"FTZ": 4}, {"XORSIGN": 2})),
    _row("FCHK", "P s s", harmless=FORMS),
    _row("MUFU", "R s", groups={
        "RCP": 0, "RSQ": 1, "EX2": 2, "LG2": 3, "SIN": 4, "COS": 5, "SQRT": 6, "TANH": 7,
        "RCP64H": 8, "RSQ64H": 9}),
    _row("MUFU.TANH.F16", "R h"),
    _row("MUFU.TANH.BF16", "R h"),
    _row("DADD", "R d d", groups=_ROUND),
    _row("DMUL", "R d d", groups=_ROUND),
    _row("DFMA", "R d d d", groups=_ROUND),
    _row("DSETP", "P P? d d p", groups=_OF_FLOATS),
    _row("DSETP.MAX.AND", "P P d d p", "DSETP.EXTREME", always=1),
    _row("DSETP.MIN.AND", "P P d d p", "DSETP.EXTREME"),
    # Halves
    _row("HADD2", "R h h", groups=(*_HALVES, {"F32": 2}), harmless=PIPES),
    _row("HADD2.BF16_V2", "R h h", "HADD2.BF16", (*_BRAINS, {"F32": 2}), harmless=PIPES),
    *(
        _row(f"{opcode}{form}", shape, f"{opcode}{handler}", groups, harmless=PIPES)
        for opcode, shape in (("HMUL2", "R h h"), ("HFMA2", "R h h h"))
        for form, handler, groups in (("", "", _HALVES), (".BF16_V2", ".BF16", _BRAINS))
    ),
    _row("HMNMX2", "R h h p", groups=({"NAN": 32}, {"FTZ": 16}, {"XORSIGN": 64})),
    _row("HMNMX2.BF16_V2", "R h h p", "HMNMX2.BF16", ({"NAN": 32}, {"XORSIGN": 64})),
    _row("HSETP2", "P P? h h p", groups=(*_OF_FLOATS, {"FTZ": 64})),
    _row("HSETP2.BF16_V2", "P P? h h p", "HSETP2.BF16", _OF_FLOATS),
    _row("HSET2", "R h h p", groups=(*_OF_FLOATS, {"FTZ": 64}, {"BF": 128})),
    _row("HSET2.BF16_V2", "R h h p", "HSET2.BF16", (*_OF_FLOATS, {"BF": 128})),
    # Conversions
    _row("F2I", "R s", groups=(_TO_INTEGERS, _WAYS_OF_CONVERSION, _FLUSH,
                               _NAN_TO_ZERO),
         always=FLOAT_TYPES["F32"], defaults={"S32": 5 << 4}),
    *(
        _row(f"F2I.{source}", "R d", "F2I",
             (_TO_INTEGERS, _WAYS_OF_CONVERSION, _NAN_TO_ZERO),
             always=FLOAT_TYPES[source], defaults={"S32": 5 << 4})
        for source in ("F16", "BF16", "F64")
    ),
    _row("I2F", "R d", groups=(*_types(INTEGER_TYPES, FLOAT_TYPES), _WAYS_OF_CONVERSION),
         defaults={"S32": 5, "F32": 10 << 4}),
    _row("I2FP", "R s", "I2F",
         (*_types({"U32": 4, "S32": 5}, {"F32": 10}), _WAYS_OF_CONVERSION)),
    *(
        _row(f"F2F.{to}.{source}", "R d", "F2F",
             (*((_WAYS_OF_CONVERSION,) if _narrows(source, to) else ()),
              *((_FLUSH,) if "F32" in (to, source) else ())),
             always=FLOAT_TYPES[source] | FLOAT_TYPES[to] << 4,
             harmless=None if _narrows(source, to) else EXACT)
        for to in FLOAT_TYPES for source in FLOAT_TYPES if to != source
    ),
    _row("FRND", "R s", groups=(_WAYS_OF_CONVERSION, _FLUSH), always=10 | 10 << 4),
    *(
        _row(f"FRND.{type_}", "R d", "FRND", (_WAYS_OF_CONVERSION,),
             always=FLOAT_TYPES[type_] * 0x11)
        for type_ in ("F16", "BF16", "F64")
    ),
    *(_row(f"I2IP.{to}.S32.SAT", "R s s s", "I2IP", always=INTEGER_TYPES[to])
      for to in ("U8", "S8", "U16", "S16")),
    *(_row(f"I2I.{to}.S32.SAT", "R s", "I2I", always=INTEGER_TYPES[to])
      for to in ("U8", "S8", "U16", "S16")),
    *(
        _row(f"F2FP.{form}PACK_AB", "R s s", "F2FP", ({"RN": 0, "RZ": 4}, {"RELU": 2}),
             always=form.startswith("BF16"))
        for form in ("F16.F32.", "BF16.F32.", "", "BF16.")
    ),
    *(
        _row(f"F2FP.SATFINITE.{to}.{form}", shape, "F2FP.BYTES", {"RELU": 2}, always=flag | halves)
        for to, flag in (("E4M3", 0), ("E5M2", 1))
        for form, shape, halves in (("F32.PACK_AB_MERGE_C", "R s s v", 0),
                                    ("F16.UNPACK_B_MERGE_C", "R v v", 4))
    ),
    *(_row(f"F2FP.F16.{source}.UNPACK_B", "R v", "F2FP.HALVES", {"RELU": 2}, always=flag)
      for source, flag in (("E4M3", 0), ("E5M2", 1))),
    # Memory
    _row("LDG", "R P? m", "LOAD", _LOAD, harmless=CACHES),
    _row("LD", "R P? m", "LOAD", _LOAD, harmless=CACHES, space=layout.GENERIC),
    _row("LDS", "R m", "LOAD", _LOAD, harmless=CACHES | TURING, space=layout.SHARED),
    _row("LDL", "R m", "LOAD", _LOAD, harmless=CACHES, space=layout.LOCAL),
    _row("STG", "m v", "STORE", _STORE, harmless=CACHES),
    _row("ST", "m v", "STORE", _STORE, harmless=CACHES, space=layout.GENERIC),
    _row("STS", "m v", "STORE", _STORE, harmless=CACHES, space=layout.SHARED),
    _row("STL", "m v", "STORE", _STORE, harmless=CACHES, space=layout.LOCAL),
    _row("LDSM.16.M88", "R m", "LDSM", always=1 << 4, space=layout.SHARED),
    _row("LDSM.16.M88.2", "R m", "LDSM", always=2 << 4, space=layout.SHARED),
    _row("LDSM.16.M88.4", "R m", "LDSM", always=4 << 4, space=layout.SHARED),
    _row("LDSM.16.MT88", "R m", "LDSM", always=1 | 1 << 4, space=layout.SHARED),
    _row("LDSM.16.MT88.2", "R m", "LDSM", always=1 | 2 << 4, space=layout.SHARED),
    _row("LDSM.16.MT88.4", "R m", "LDSM", always=1 | 4 << 4, space=layout.SHARED),
    _row("LDGSTS", "t m p?", "LDGSTS", (*_STORE, {"ZFILL": layout.FILLS}), harmless=CACHES),
    _row("LDGDEPBAR", ""),
    _row("DEPBAR.LE", "_ i _?"),
    _row("LDC", "R c", groups=_CONSTANT),
    _row("LDCU", "R c", "LDC", _CONSTANT, is_uniform=True),
    *_atomics("REDG", "m v"),
    *_atomics("RED", "m v", space=layout.GENERIC),
    *_atomics("ATOMG", "P R m v v?", always=layout.HAS_RESULT),
    *_atomics("ATOM", "P R m v v?", always=layout.HAS_RESULT, space=layout.GENERIC),
    _row("ATOMS", "R m v? v?", "ATOMIC", _ATOMIC, harmless=CACHES | FORMS,
         always=layout.HAS_RESULT, space=layout.SHARED),
    _row("ATOMS.CAST", "P? R? m v v", "ATOMIC", ({"64": 2 << 4},), harmless=CACHES | FORMS,
         always=layout.HAS_RESULT | _ATOMICS["CAST"], space=layout.SHARED),
    _row("ATOMS.POPC.INC.32", "R m", "ATOMIC", always=10, space=layout.SHARED),
    *(_row(f"QSPC.E.{space}", "P R m", "QSPC", always=flag) for space, flag in
      (("S", layout.OF_SHARED), ("G", layout.OF_GLOBAL), ("L", layout.OF_LOCAL),
       ("D", layout.OF_CLUSTER))),
    *textures.ROWS,
    *blackwell.ROWS,
    *hopper.ROWS,
    # Exchanges between lanes, and lane masks
    _row("SHFL", "P R v v v", groups=_SHUFFLES),
    _row("VOTE", "R? P? p", groups={"ANY": 0, "ALL": 1, "EQ": 2}),
    _row("VOTEU", "R? P? p", "VOTE", {"ANY": 0, "ALL": 1, "EQ": 2}, is_uniform=True),
    _row("MATCH.ANY", "R v", "MATCH"),
    _row("MATCH.ALL", "P R v", "MATCH", always=1),
    _row("MATCH.ANY.U64", "R v", "MATCH", always=2),
    _row("MATCH.ALL.U64", "P R v", "MATCH", always=3),
    _row("REDUX", "R v", always=3, is_uniform=True),  # nvdisasm omits .AND
    *(
        _row(f"REDUX.{name}", "R v", "REDUX", {"S32": 8}, always=flag, is_uniform=True)
        for name, flag in (("SUM", 0), ("MIN", 1), ("MAX", 2), ("AND", 3), ("OR", 4), ("XOR", 5))
    ),
    _row("R2UR", "P? R s", groups={"OR": layout.DIFFERS_ALSO}, is_uniform=True),
    _row("S2R", "R x"),
    _row("S2UR", "R x", "S2R", is_uniform=True),
    _row("CS2R", "R x", "S2R", always=1 << 8),
    _row("CS2R.32", "R x", "S2R"),
    *matrix.ROWS,
    _row("WARPGROUP.DEPBAR.LE", "_ i", "NOTHING", (), layout.PRODUCTS_WAIT),
    _row("FENCE.VIEW.ASYNC", "", "FENCE.OF.PROXIES", harmless=ORDERS),
    # Instructions without an effect on results here
    *(
        _row(name, "_? _? _?", "NOTHING", harmless=ORDERS)
        for name in ("NOP", "ERRBAR", "CGAERRBAR",
                     "WARPGROUP", "FENCE")
    ),
    _row("DEPBAR", "_? _? _? _? _? _?", "NOTHING", harmless=ORDERS),
    _row("CCTL", "_? _? _?", "NOTHING", harmless={**ORDERS, **PREFETCHES}),
    _row("CCTL.E.RML2", "m", "DISCARD"),
    _row("PMTRIG", "i", "NOTHING"),
    # A launch begins when the previous one has ended, even if that one allowed an earlier start.
    _row("ACQBULK", "", "NOTHING"),
    _row("PREEXIT", "", "NOTHING"),
    _row("MEMBAR", "_? _? _?", "MEMBAR", harmless=ORDERS),  # for the judge
    # Control flow
    _row("BRA", "p? l", "NOTHING", (), layout.BRANCH),
    # Skips code that all lanes would skip; if some lanes would not skip it, the code itself
    # branches.
    _row("BRA.U", "p? l", "NOTHING", (), layout.BRANCH, always=1),
    _row("BRA.U.ANY", "p? l", "NOTHING", (), layout.BRANCH_OF_ANY),
    _row("BRA.DIV", "s? l", "NOTHING", (), layout.BRANCH_DIV),
    _row("BRA.CONV", "s? l", "NOTHING", (), layout.BRANCH_DIV, always=1),
    _row("EXIT", "p?", "NOTHING", (), layout.EXIT),
    _row(RELATIVE_CALL, "v? l", "NOTHING", (), layout.CALL),  # through a register: see encode.py
    _row(CALL_OF_DRIVER, "s", SYSTEM),
    _row("LEPC", "R l?"),  # before sm_90: its own address, to which code adds offsets
    _row("BRX", "v i", "NOTHING", (), layout.BRANCH_INDEXED),
    _row("RET.REL.NODEC", "v l", "NOTHING", (), layout.RETURN),
    _row("BSSY", "b l", "NOTHING", (), layout.SET_BARRIER, harmless=MEETING),
    _row("BSYNC", "b", "NOTHING", (), layout.WAIT_BARRIER, harmless=MEETING),
    _row("BREAK", "b p?", "NOTHING", (), layout.BREAK_BARRIER, harmless=MEETING),
    _row("BMOV.32", "b v", "BMOV.BARRIER"),
    _row("BMOV.32.CLEAR", "R? B? b", "BMOV.CLEAR"),
    _row("WARPSYNC", "v", "NOTHING", (), layout.WARP_SYNC),
    _row("WARPSYNC.ALL", "", "NOTHING", (), layout.WARP_SYNC),
    _row("WARPSYNC.EXCLUSIVE", "v", "NOTHING", (), layout.WARP_SYNC_EXCLUSIVE),
    _row("WARPSYNC.COLLECTIVE", "v l", "NOTHING", (), layout.COLLECTIVE),
    _row("WARPSYNC.COLLECTIVE.ALL", "l", "NOTHING", (), layout.COLLECTIVE),
    _row("ENDCOLLECTIVE", "", "NOTHING", (), layout.END_COLLECTIVE),
    _row("BAR.SYNC", "v v?", "NOTHING", (), layout.BLOCK_BARRIER, harmless=SCHEDULING),
    _row("BAR.ARV", "v v", "NOTHING", (), layout.BLOCK_BARRIER, always=8, harmless=SCHEDULING),
    *(_row(f"BAR.RED.{kind}", "v v? p", "NOTHING", (), layout.BLOCK_BARRIER, always=flag,
           harmless=SCHEDULING) for kind, flag in (("POPC", 1), ("AND", 3), ("OR", 5))),
    _row("B2R.RESULT", "R P?", "B2R.RESULT"),
    _row("YIELD", "", "NOTHING", (), layout.YIELD),
    _row("NANOSLEEP", "s", "NOTHING", (), layout.YIELD, harmless=AWAKES),
    _row("BPT.TRAP", "_?", "TRAP"),
)  # fmt: skip
