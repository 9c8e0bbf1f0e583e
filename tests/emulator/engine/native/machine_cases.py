"""Kernels with the warp machine's operations on warps, memory and matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from operation_cases import ARITHMETIC
from operation_kernels import BITS, Group, register_class
from video_cases import video

# --- warps and memory -------------------------------------------------------------------------

WHOLE_WARPS = 32 * 8  # threads of a block
_ANYWHERE = "mov.u32 %r20, s; mad.lo.u32 %r21, %t, 16, %r20; "


def _warps() -> Iterator[Group]:
    for mode in ("idx", "up", "down", "bfly"):
        name = f"shfl.sync.{mode}.b32"
        texts = (f"{name} $0|%p1, $1, $2, 0x1f, -1", f"{name} $0, $1, 3, 0, -1",
                 f"{name} $0, $1, $2, $3, -1",
                 f"{name} %r9|%p1, $1, $2, $3, -1; selp.u32 $0, 1, 0, %p1")  # fmt: skip
        yield Group(texts, "u32", ("u32", "shift", "u32"), 0, WHOLE_WARPS)
    low = "setp.lt.u32 %p1, $1, $2; "
    yield Group((*(f"{low}vote.sync.{mode}.pred $0, %p1, -1" for mode in ("all", "any", "uni")),
                 "match.all.sync.b32 %r10|$0, $2, -1", "elect.sync %r10|$0, -1"),
                "pred", ("shift", "shift"))  # fmt: skip
    yield Group((f"{low}vote.sync.ballot.b32 $0, %p1, -1", "match.any.sync.b32 $0, $1, -1",
                 "match.all.sync.b32 $0|%p2, 7, -1", "mov.b64 %l5, {$1, $1}; "
                 "match.any.sync.b64 $0, %l5, -1", "match.all.sync.b64 $0, %l5, -1",
                 "activemask.b32 $0", "elect.sync $0|%p2, -1",
                 "bar.warp.sync -1; membar.gl; fence.acq_rel.gpu; mov.u32 $0, 1"),
                "u32", ("shift", "shift"))  # fmt: skip
    reductions = ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32",
                  "or.b32", "xor.b32")  # fmt: skip
    yield Group(tuple(f"redux.sync.{name} $0, $1, -1" for name in reductions), "u32", ("u32",))
    of_floats = [f"{name}{abs_}{nan}.f32" for name in ("min", "max") for abs_ in ("", ".abs")
                 for nan in ("", ".NaN")]  # fmt: skip
    yield Group(tuple(f"redux.sync.{name} $0, $1, -1" for name in of_floats), "f32", ("f32",))


def _memory() -> Iterator[Group]:
    own = 8192
    for t in ("u8", "s8", "u16", "s16", "u32", "u64", "f32", "f64"):
        text = f"{_ANYWHERE}st.shared.{t} [%r21], $1; ld.shared.{t} $0, [%r21]"
        yield Group((text,), t, (t,), own)
    yield Group((f"{_ANYWHERE}st.shared.v4.u16 [%r21], {{$1, $2, $1, $2}}; "
                 "ld.shared.v2.u32 {%r10, $0}, [%r21]",), "u32", ("u16", "u16"), own)  # fmt: skip
    wait = "; cp.async.commit_group; cp.async.wait_group 0; "
    yield Group((f"{_ANYWHERE}cp.async.ca.shared.global [%r21], [%a0], 8{wait}"
                 "ld.shared.u64 $0, [%r21]",), "u64", ("u64",), own)  # fmt: skip
    yield Group((f"{_ANYWHERE}cp.async.ca.shared.global [%r21], [%a0], 4; cp.async.wait_all; "
                 "ld.shared.u32 $0, [%r21]",), "u32", ("u32",), own)  # fmt: skip


def _registers_read_first() -> Iterator[Group]:
    """A register that is written in some lanes and read in the given lanes."""
    yield Group(("setp.ne.u32 %p1, $1, 0; @%p1 mov.u32 %r20, $1; mov.u32 $0, 7; "
                 "@%p1 add.u32 $0, %r20, 1",), "u32", ("shift",))  # fmt: skip


def _atomics() -> Iterator[Group]:
    """Atomics on eight words, which many lanes share: the old values, and the final ones."""
    kinds = [("u32", "u32", "add and or xor exch min max inc dec"), ("s32", "s32", "min max"),
             ("u64", "u64", "add and or xor exch min max"), ("s64", "s64", "min max"),
             ("f32", "f32", "add"), ("f64", "f64", "add"), ("f16", "f16", "add.noftz"),
             ("bf16", "bf16", "add.noftz"), ("f16x2", "f16x2", "add.noftz"),
             ("bf16x2", "bf16x2", "add.noftz"), ("u16", "b16", "")]  # fmt: skip
    for type_, name, operations in kinds:
        bits = BITS[register_class(type_)]
        start = (
            "mov.u32 %r20, s; and.b32 %r21, %t, 7; mad.lo.u32 %r21, %r21, 8, %r20; bar.sync 0; "
            f"setp.lt.u32 %p5, %t, 8; @%p5 st.shared.{bits} [%r21], $2; bar.sync 0; "
        )
        end = f"; bar.sync 0; ld.shared.{bits} $0, [%r21]"
        texts = []
        for operation in operations.split():
            own = "b" + name[1:] if operation in ("and", "or", "xor", "exch") else name
            texts.append(f"{start}atom.shared.{operation}.{own} $0, [%r21], $1")
            texts.append(f"{start}red.shared.{operation}.{own} [%r21], $1{end}"
                         if operation != "exch" else f"{start}mov.{bits} $0, $1{end}")  # fmt: skip
        if type_ in ("u16", "u32", "u64"):
            texts.append(f"{start}atom.shared.cas.{bits} $0, [%r21], $2, $1{end}")
            texts.append(f"{start}atom.shared.cas.{bits} $0, [%r21], $2, $1")
        yield Group(tuple(texts), type_, (type_, type_), 64)
    start = ("mov.u32 %r20, s; and.b32 %r21, %t, 7; mad.lo.u32 %r21, %r21, 16, %r20; bar.sync 0; "
             "setp.lt.u32 %p5, %t, 8; @%p5 st.shared.v2.b64 [%r21], {$1, $2}; bar.sync 0; "
             "{ .reg .b128 %w<3>; and.b64 %l8, $1, 1; and.b64 %l9, $2, 1; mov.b128 %w0, {$1, $2}; "
             "mov.b128 %w1, {%l8, %l9}; atom.shared")  # fmt: skip
    texts = []
    for operation in (
        "exch.b128 %w2, [%r21], %w0;",
        "cas.b128 %w2, [%r21], %w0, %w1;",
        "exch.b128 %w2, [%r21], %w1;",
        "cas.b128 %w2, [%r21], %w1, %w0;",
    ):
        texts += [
            f"{start}.{operation} mov.b128 {{$0, %l7}}, %w2; }}",
            f"{start}.{operation} mov.b128 {{%l7, $0}}, %w2; }}",
            f"{start}.{operation} }} bar.sync 0; ld.shared.v2.b64 {{%l7, $0}}, [%r21]",
        ]
    yield Group(tuple(texts), "u64", ("u64", "u64"), 128)


# --- tensor cores -----------------------------------------------------------------------------

_LETTERS = {"f32": "f", "f64": "d"}
_PACKED = {"f16": 2, "bf16": 2, "s8": 4, "u8": 4, "s4": 8, "u4": 8, "e4m3": 4,
           "e5m2": 4}  # fmt: skip
"""The number of elements in a register."""
_DRAWN = {"f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "f32": "f32", "f64": "f64",
          "e4m3": "f16x2", "e5m2": "f16x2"}  # fmt: skip


def _registers(letter: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"{letter}{first + i}" for i in range(count)) + "}"


def _operand(type_: str, kind: str = "tame") -> str:
    """The type of a fragment's register as an operand, which determines its values."""
    return f"{kind} {_DRAWN[type_]}" if type_ in _DRAWN else "s32"


def _mma(shape: str, types: str, kind: str = "tame", end: str = "") -> Group:
    """`types` are those of d, a, b and c; `end` completes the opcode; values are tame or wild."""
    rows, depth = (int(n) for n in shape[1:].split("n8k"))
    d, a, b, c = types.split(".")
    counts = [n // 32 // _PACKED.get(t, 1) for n, t in
              ((rows * depth, a), (8 * depth, b), (rows * 8, c), (rows * 8, d))]  # fmt: skip
    first = list(itertools.accumulate(counts, initial=1))
    parts = [_registers("$", at, n) for at, n in zip(first[:3], counts[:3], strict=True)]
    letter = _LETTERS.get(d, "r")
    made = _registers(f"%{letter}", 30, counts[3])
    text = f"mma.sync.aligned.{shape}.row.col{end}.{types} {', '.join([made, *parts])}"
    sources = [_operand(a, kind)] * counts[0] + [_operand(b, kind)] * counts[1]
    sources += [_operand(c, kind if c == "f64" else "tame")] * counts[2]
    moves = [f"mov.{BITS[letter]} $0, %{letter}{30 + i}" for i in range(counts[3])]
    result = {"f16": "f16x2"}.get(d, d)
    return Group((f"{text}; {moves[0]}", *moves[1:]), result, tuple(sources), 0, WHOLE_WARPS)


def _mma_products() -> Iterator[Group]:
    for c, d in itertools.product(("f16", "f32"), repeat=2):
        for shape in ("m16n8k8", "m16n8k16"):
            yield _mma(shape, f"{d}.f16.f16.{c}")
    for kind in ("tame", "wild"):
        for shape in ("m16n8k8", "m16n8k16"):
            yield _mma(shape, "f32.bf16.bf16.f32", kind)
        for shape in ("m16n8k4", "m16n8k8"):
            yield _mma(shape, "f32.tf32.tf32.f32", kind)
        for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
            yield _mma(shape, "f64.f64.f64.f64", kind)
    for bits, shapes in ((8, "m8n8k16 m16n8k16 m16n8k32"), (4, "m8n8k32 m16n8k32 m16n8k64")):
        for a, b, end in itertools.product("su", "su", ("", ".satfinite")):
            for shape in shapes.split():
                yield _mma(shape, f"s32.{a}{bits}.{b}{bits}.s32", end=end)
    for a, b in itertools.product(("e4m3", "e5m2"), repeat=2):
        for sums in ("f32", "f16"):
            yield _mma("m16n8k32", f"{sums}.{a}.{b}.{sums}")


def _matrices() -> Iterator[Group]:
    """Kernels with ldmatrix and stmatrix."""
    fill = f"{_ANYWHERE}st.shared.v4.u32 [%r21], {{$1, $2, $2, $1}}; bar.warp.sync -1; "
    for trans in ("", ".trans"):
        shape = f"sync.aligned.m8n8.{{}}{trans}.shared.b16"
        four = f"{fill}ldmatrix.{shape.format('x4')} {_registers('%r', 30, 4)}, [%r21]; "
        one = f"ldmatrix.{shape.format('x1')} {{$0}}, [%r21]"
        two = f"bar.warp.sync -1; stmatrix.{shape.format('x2')} [%r21], {{$1, $2}}; "
        texts = (f"{four}mov.b32 $0, %r30", *(f"mov.b32 $0, %r{n}" for n in (31, 32, 33)), one,
                 f"{two}bar.warp.sync -1; ld.shared.u32 $0, [%r21]")  # fmt: skip
        yield Group(texts, "u32", ("u32", "u32"), 16 * WHOLE_WARPS, WHOLE_WARPS)


def _wmma_products() -> Iterator[Group]:
    for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
        for c, d in itertools.product(("f16", "f32"), repeat=2):
            yield _wmma(shape, f"{d}.f16.f16.{c}", "row col row row")
        yield _wmma(shape, "f32.bf16.bf16.f32", "col row col row")
        for t in ("s8", "u8"):
            yield _wmma(shape, f"s32.{t}.{t}.s32", "row row col col")
            yield _wmma(shape, f"s32.{t}.{t}.s32", "col col row row", ".satfinite")
    yield _wmma("m16n16k8", "f32.tf32.tf32.f32", "col row row col")
    yield _wmma("m8n8k4", "f64.f64.f64.f64", "row col col row")


def _wmma(shape: str, types: str, layouts: str, end: str = "") -> Group:
    """Load fragments from the operands' arrays; store the result through shared memory."""
    m, n, k = (int(v) for v in shape.replace("n", "m").replace("k", "m").split("m")[1:])
    d, a, b, c = types.split(".")
    own = layouts.split()
    elements = {"a": m * k, "b": k * n, "c": m * n, "d": m * n}
    fragments = {}
    for (role, held), t, first in zip(elements.items(), (a, b, c, d), (0, 8, 16, 32), strict=True):
        count = 8 if t == "f16" and role in "ab" else held // 32 // _PACKED.get(t, 1)
        fragments[role] = _registers("%" + _LETTERS.get(t, "z"), first, count)
    lines = ["shr.u32 %r20, %i, 5"]
    for number, (role, t) in enumerate(zip("abc", (a, b, c), strict=True)):
        load = f"wmma.load.{role}.sync.aligned.{own[number]}.{shape}.global.{t}"
        lines += [f"ld.param.u64 %a1, [p{number}]", "mad.wide.u32 %a1, %r20, 32, %a1",
                  f"{load} {fragments[role]}, [%a1]"]  # fmt: skip
    named = f"{d}.{c}" if a == "f16" else types
    given = ", ".join(fragments[role] for role in "dabc")
    lines.append(f"wmma.mma.sync.aligned.{own[0]}.{own[1]}.{shape}.{named}{end} {given}")
    size, pitch = {"f16": 2, "f64": 8}.get(d, 4), n if own[3] == "row" else m
    store = f"wmma.store.d.sync.aligned.{own[3]}.{shape}.shared.{d}"
    lines += ["mov.u32 %r21, s", "shr.u32 %r22, %t, 5", "and.b32 %r23, %t, 31",
              f"mad.lo.u32 %r21, %r22, {m * n * size}, %r21",
              f"{store} [%r21], {fragments['d']}, {pitch}",
              f"mad.lo.u32 %r21, %r23, {size}, %r21", "bar.warp.sync -1"]  # fmt: skip
    kind = BITS[register_class(d)]
    reads = [f"ld.shared.{kind} $0, [%r21+{32 * size * i}]" for i in range(m * n // 32)]
    sources = (_operand(a), _operand(b), _operand(c))
    return Group(("; ".join([*lines, reads[0]]), *reads[1:]), d, sources,
                 WHOLE_WARPS // 32 * m * n * size, WHOLE_WARPS)  # fmt: skip


_PARTS = (*ARITHMETIC, _warps, _memory, _registers_read_first, _atomics, _mma_products, _matrices,
          _wmma_products, video)  # fmt: skip
GROUPS = [group for part in _PARTS for group in part() if group.instructions]
