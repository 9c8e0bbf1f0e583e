"""Rows for Hopper's asynchronous instructions: mbarriers, bulk and tensor copies, clusters.

None of these instructions is documented. The meaning of each form was derived by comparing PTX with
the code that ptxas of CUDA 13.0 generates from it for sm_90a, and confirmed for sm_100a and sm_120a
(`tests/emulator/sass/asynchronous`). Blackwell's code uses stores to initialise mbarriers whose
addresses differ from lane to lane; after `SYNCS.CCTL.IVALL`, the emulator accepts stored words as
mbarriers. Code that changes a tensor map has no special instructions except those that make the
change visible (`UTMACCTL.IV`).

`T` is the first of several uniform registers, in brackets, and `N` a register that has no effect;
`H` is a cache policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.emulator.sass import layout
from harness.emulator.sass.code import Instruction
from harness.emulator.sass.instructions.harmless import OF_PREFETCHES
from harness.emulator.sass.instructions.operand_shapes import Unencodable
from harness.emulator.sass.instructions.row import Flags, Groups, Row, row

_ARRIVALS: Flags = {
    "A1T0": layout.ONE, "ART0": layout.GIVEN, "A0TR": layout.EXPECTED, "A0TX": layout.COMPLETED,
    "A0T1": layout.BYTE,
}  # fmt: skip
_OPERATIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")
_TYPES = ("", ".S32", ".U64", ".S64", ".F16.RN", ".BF16.RN", ".F32.RN", ".F64.RN")
_OPERATION_SHIFT, _TYPE_SHIFT = 8, 11
_ORDER, _BITS = ("MIN", "MAX"), ("AND", "OR", "XOR")
_IN_BULK = {
    "": _OPERATIONS, ".S32": ("ADD", *_ORDER), ".U64": ("ADD", *_ORDER, *_BITS), ".S64": _ORDER,
    ".F16.RN": ("ADD", *_ORDER), ".BF16.RN": ("ADD", *_ORDER), ".F32.RN": ("ADD",),
    ".F64.RN": ("ADD",),
}  # fmt: skip
"""Reductions of bulk copies, as PTX's `cp.reduce.async.bulk` has them."""
_BETWEEN_BLOCKS = {"": _OPERATIONS, ".S32": ("ADD", *_ORDER), ".U64": ("ADD",)}
"""Reductions in another block's shared memory, and those of `red.async`."""

OPCODES: Final = frozenset({
    "SYNCS", "ARRIVES", "UBLKCP", "UBLKRED", "UBLKPF", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF",
    "UTMACCTL", "UTMACMDFLUSH", "STAS", "REDAS", "UCGABAR_ARV", "UCGABAR_WAIT", "USETMAXREG",
    "STSM", "ELECT",
})  # fmt: skip
"""Instructions for which no hardware reading confirms the counts, neither their own nor those of
the code around them."""
COPIES: Final = frozenset({
    "LDGSTS", "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "HGMMA", "QGMMA", "IGMMA",
})  # fmt: skip
"""Instructions whose work continues after they have been issued."""
GROUP_OF_PRODUCTS: Final = "gsb0"
ENDS_GROUP: Final = 1 << 19
"""The last operand of an MMA that ends a group, and the flag that it sets."""
LAST_OPERAND: Final = 2
"""The position of the source that holds sizes or offsets, and blocks."""


def _reduction(operation: str, type_: str) -> int:
    kind = _OPERATIONS.index(operation) << _OPERATION_SHIFT | _TYPES.index(type_) << _TYPE_SHIFT
    return layout.REDUCTION | kind


def _reductions(
    known: Mapping[str, Sequence[str]], name: str, shape: str, handler: str, always: int = 0,
    *, is_uniform: bool = False,
) -> Iterator[Row]:  # fmt: skip
    space = layout.GLOBAL if is_uniform else layout.SHARED
    for type_, operations in known.items():
        for operation in operations:
            how = always | _reduction(operation, type_)
            yield row(f"{name}.{operation}{type_}", shape, handler, always=how, space=space,
                      is_uniform=is_uniform)  # fmt: skip


def _boxes() -> Iterator[Row]:
    for rank in range(1, 6):
        pixels: Groups = ({"IM2COL": layout.BY_PIXELS},) if rank > 2 else ()
        yield row(f"UTMALDG.{rank}D", "T T v? H?", "BOX.LOAD",
                  (*pixels, {"MULTICAST": layout.TO_MANY}), always=rank,
                  is_uniform=True)  # fmt: skip
        yield row(f"UTMASTG.{rank}D", "T T H?", "BOX.STORE", pixels, always=rank, is_uniform=True)
        for operation in _OPERATIONS:
            yield row(f"UTMAREDG.{rank}D.{operation}", "T T H?", "BOX.STORE", pixels,
                      always=rank | _reduction(operation, ""), is_uniform=True)  # fmt: skip
        yield row(f"UTMAPF.L2.{rank}D", "N N v? H?", "NOTHING", harmless=OF_PREFETCHES,
                  is_uniform=True)  # fmt: skip


def check(row: Row, instruction: Instruction) -> None:
    """Reject a load of a box whose modifiers do not match its offsets or blocks, and results that
    are not implemented (Unencodable)."""
    modifiers = set(instruction.modifiers)
    if row.handler == "BOX.LOAD":
        last = any(each.kind in ("uniform", "register") for each in instruction.operands)
        if last != bool(modifiers & {"IM2COL", "MULTICAST"}):
            raise Unencodable("operands of another form")
    if row.handler == "SYNCS.SET" and instruction.operands[0].text not in ("RZ", "URZ"):
        raise Unencodable("what was there before")
    if row.handler == "SYNCS.ARRIVE" and len(modifiers & set(_ARRIVALS)) > 1:
        raise Unencodable("arrivals of another form")


ROWS: Sequence[Row] = (
    # mbarriers
    row("SYNCS.EXCH.64", "R m v", "SYNCS.SET", space=layout.SHARED),
    row("SYNCS.CCTL.IV", "m", "SYNCS.CLEAR", space=layout.SHARED),
    row("SYNCS.CCTL.IVALL", "", "SYNCS.LOOK"),
    *(
        row(f"SYNCS.ARRIVE.TRANS64{elsewhere}{name}", "R m v", "SYNCS.ARRIVE",
            {"OPTOUT": layout.DROPS}, always=flags | how, space=layout.SHARED)
        for elsewhere, flags in (("", 0), (".RED", layout.ELSEWHERE))
        for name, how in (("", layout.ONE | layout.EXPECTED),
                          *((f".{each}", flag) for each, flag in _ARRIVALS.items()))
    ),
    row("SYNCS.ARRIVE.TRANS64.TMASK.ART0", "R m v", "SYNCS.ARRIVE", {"OPTOUT": layout.DROPS},
        always=layout.GIVEN | layout.TOGETHER, space=layout.SHARED),
    row("SYNCS.PHASECHK.TRANS64", "P m v", "NOTHING", {"TRYWAIT": layout.WAITS}, layout.PHASE_TEST,
        space=layout.SHARED),
    row("ARRIVES.LDGSTSBAR.64.TRANSCNT", "m", "ARRIVES", always=layout.LANDED, space=layout.SHARED),
    row("ARRIVES.LDGSTSBAR.64.ARVCNT", "m", "ARRIVES", always=layout.ONE, space=layout.SHARED),
    # Linear copies
    row("UBLKCP.S.G", "T T v H?", "BULK.COPY", {"MULTICAST": layout.TO_MANY},
        always=layout.TO_SHARED, is_uniform=True),
    row("UBLKCP.G.S", "T T v H?", "BULK.COPY", always=layout.FROM_SHARED, is_uniform=True),
    row("UBLKCP.S.S", "T T v H?", "BULK.COPY", always=layout.FROM_SHARED | layout.TO_SHARED,
        is_uniform=True),
    *_reductions(_IN_BULK, "UBLKRED.G.S", "T T v H?", "BULK.COPY", always=layout.FROM_SHARED,
                 is_uniform=True),
    *_reductions(_BETWEEN_BLOCKS, "UBLKRED.S.S", "T T v H?", "BULK.COPY",
                 always=layout.FROM_SHARED | layout.TO_SHARED, is_uniform=True),
    row("UBLKPF.L2", "T v H?", "NOTHING", is_uniform=True),
    # Boxes
    *_boxes(),
    row("UTMACMDFLUSH", "", "BULK.COMMIT"),
    row("UTMACCTL.PF", "T", "NOTHING", is_uniform=True),
    row("UTMACCTL.IV", "T", "NOTHING", is_uniform=True),
    # Clusters
    row("STAS", "m v", "STORE.AND.TELL", {"64": 0, "128": 0}, space=layout.SHARED),
    *_reductions({"": _OPERATIONS, ".S32": ("ADD", *_ORDER)}, "REDAS", "m v", "STORE.AND.TELL"),
    row("REDAS.ADD.64", "m v", "STORE.AND.TELL", always=_reduction("ADD", ".U64"),
        space=layout.SHARED),
    row("UCGABAR_ARV", "", "CLUSTER.ARRIVE", is_uniform=True),
    row("UCGABAR_WAIT", "", "NOTHING", (), layout.CLUSTER_WAIT),
    row("USETMAXREG.TRY_ALLOC.CTAPOOL", "P i", "NOTHING", (), layout.TAKE_REGISTERS),
    row("USETMAXREG.DEALLOC.CTAPOOL", "i", "GIVE.REGISTERS", is_uniform=True),
    # Around an alias fence
    row("UP2UR", "R q s i", "P2R", groups={"B1": 1, "B2": 2, "B3": 3}, is_uniform=True),
    row("UR2UP", "q? s i?", "R2P", is_uniform=True),
    # Warp-wide
    row("ELECT", "P R p", is_uniform=True),
    *(row(f"STSM.16.{turned}88{count}", "m v", "STSM", always=flags | number << 4,
          space=layout.SHARED)
      for turned, flags in (("M", 0), ("MT", 1))
      for count, number in (("", 1), (".2", 2), (".4", 4))),
)  # fmt: skip
