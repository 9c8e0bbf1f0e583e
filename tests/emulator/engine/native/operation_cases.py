"""Every arithmetic instruction of the warp machine, as kernels of a few instructions each.

A `Group` consists of instructions with the same operands: `$1`, `$2`, … are registers that hold the
operands, and `$0` is the result, which is a different register for each instruction. Types
determine the operands' values; `shift` is an amount or a bit position, and there are tame and wild
floats for matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from operation_kernels import Group

from harness.emulator.program import signatures

# --- operands ---------------------------------------------------------------------------------


# --- kernels ----------------------------------------------------------------------------------


# --- all operations ---------------------------------------------------------------------------

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def _each(pattern: str, *choices: str) -> tuple[str, ...]:
    """Replace `{}` by every combination of modifiers; `-` in a choice stands for no modifier."""
    options = [["" if w == "-" else f".{w}" for w in choice.split()] for choice in choices]
    return tuple(pattern.format(*chosen) for chosen in itertools.product(*options))


def _integers() -> Iterator[Group]:
    for t in INTEGERS:
        bits, wide = int(t[1:]), f"{t[0]}{2 * int(t[1:])}"
        two = [f"{name}.{t} $0, $1, $2" for name in
               ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max")]  # fmt: skip
        yield Group(tuple(two), t, (t, t))
        yield Group((f"mad.lo.{t} $0, $1, $2, $3", f"mad.hi.{t} $0, $1, $2, $3",
                     f"sad.{t} $0, $1, $2, $3"), t, (t, t, t))  # fmt: skip
        yield Group((f"shr.{t} $0, $1, $2",), t, (t, "shift"))
        yield Group(
            (*(f"setp.{c}.{t} $0, $1, $2" for c in ORDERED),
             *(f"setp.{c}.{t} $0, $1, $2" for c in ("lo", "ls", "hi", "hs") if t[0] == "u")),
            "pred", (t, t))  # fmt: skip
        if t[0] == "s":
            yield Group((f"abs.{t} $0, $1", f"neg.{t} $0, $1"), t, (t,))
        if bits < 64:
            yield Group((f"mul.wide.{t} $0, $1, $2",), wide, (t, t))
            yield Group((f"mad.wide.{t} $0, $1, $2, $3",), wide, (t, t, wide))
        if bits > 16:
            yield Group((f"bfe.{t} $0, $1, $2, $3",), t, (t, "shift", "shift"))
            yield Group((f"bfind.{t} $0, $1", f"bfind.shiftamt.{t} $0, $1"), "u32", (t,))
    for bits in (16, 32, 64):
        u, b = f"u{bits}", f"b{bits}"
        yield Group(
            (*(f"{name}.{b} $0, $1, $2" for name in ("and", "or", "xor")), f"not.{b} $0, $1",
             f"cnot.{b} $0, $1", f"mov.{b} $0, $1"), u, (u, u))  # fmt: skip
        yield Group((f"shl.{b} $0, $1, $2", f"shr.{b} $0, $1, $2"), u, (u, "shift"))
        yield Group((f"setp.lt.u32 %p1, $3, 50; selp.{b} $0, $1, $2, %p1",
                     f"slct.{b}.s32 $0, $1, $2, $3"), u, (u, u, "shift"))  # fmt: skip
        yield Group((f"slct.{b}.f32 $0, $1, $2, $3", f"slct.ftz.{b}.f32 $0, $1, $2, $3"), u,
                    (u, u, "f32"))  # fmt: skip
    for bits in (32, 64):
        u, b = f"u{bits}", f"b{bits}"
        yield Group((f"popc.{b} $0, $1", f"clz.{b} $0, $1"), "u32", (u,))
        yield Group((f"brev.{b} $0, $1",), u, (u,))
        yield Group((f"bfi.{b} $0, $1, $2, $3, $4",), u, (u, u, "shift", "shift"))
        carrying = [f"{n}.{u} $0, $1, $2" for n in ("add.cc", "addc", "addc.cc", "subc")]
        carrying += [f"{n}.{u} $0, $1, $2" for n in ("sub.cc", "subc.cc", "subc", "add.cc")]
        yield Group(tuple(carrying), u, (u, u))
        yield Group(
            tuple(f"{n}.{t} $0, $1, $2, $3" for n, t in (
                ("mad.lo.cc", u), ("madc.hi.cc", u), ("madc.lo", u), ("mad.hi.cc", f"s{bits}"),
                ("madc.hi", f"s{bits}"), ("madc.lo.cc", f"s{bits}"), ("madc.hi", u),
            )), u, (u, u, u))  # fmt: skip
    yield Group((*_each("shf{}{}.b32 $0, $1, $2, $3", "l r", "wrap clamp"),), "u32",
                ("u32", "u32", "shift"))  # fmt: skip
    yield Group(tuple(f"lop3.b32 $0, $1, $2, $3, {n}" for n in (0, 1, 0x80, 0x96, 0xCA, 0xE8, 255)),
                "u32", ("u32", "u32", "u32"))  # fmt: skip
    yield Group((*(f"prmt.b32.{mode} $0, $1, $2, $3" for mode in
                   ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")),
                 "setp.lt.u32 %p3, %t, 100; lop3.or.b32 $0|%p1, $1, $2, $3, 0x96, %p3",
                 "lop3.and.b32 _|%p1, $1, $2, $3, 0x80, !%p3; selp.u32 $0, 1, 0, %p1",
                 *(f"cvt.pack.sat.{t}.s32 $0, $1, $2" for t in ("u16", "s16")),
                 *(f"cvt.pack.sat.{t}.s32.b32 $0, $1, $2, $3" for t in ("u8", "s8"))),
                "u32", ("u32", "u32", "u32"))  # fmt: skip
    yield Group(("mad.hi.sat.s32 $0, $1, $2, $3",), "s32", ("s32", "s32", "s32"))
    yield Group(("prmt.b32 $0, $1, $2, $3",
                 *(f"dp4a.{a}.{b} $0, $1, $2, $3" for a in ("u32", "s32") for b in ("u32", "s32")),
                 *(f"dp2a.{part}.{a}.{b} $0, $1, $2, $3" for part in ("lo", "hi")
                   for a in ("u32", "s32") for b in ("u32", "s32"))),
                "u32", ("u32", "u32", "u32"))  # fmt: skip
    for t in ("u32", "s32"):
        yield Group((*_each("mul24{}." + t + " $0, $1, $2", "lo hi"),), t, (t, t))
        yield Group((*_each("mad24{}." + t + " $0, $1, $2, $3", "lo hi"),), t, (t, t, t))
        yield Group((*_each("szext{}." + t + " $0, $1, $2", "clamp wrap"),), t, (t, "shift"))
    yield Group((*_each("bmsk{}.b32 $0, $1, $2", "clamp wrap"),), "u32", ("shift", "shift"))
    yield Group(("fns.b32 $0, $1, $2, $3",), "u32", ("u32", "shift", "shift"))
    yield Group(("fns.b32 $0, $1, $2, -3", "fns.b32 $0, $1, $2, 0", "fns.b32 $0, $1, $2, 2"), "u32",
                ("u32", "shift"))  # fmt: skip
    yield Group(("min.s32.relu $0, $1, $2", "max.s32.relu $0, $1, $2", "add.sat.s32 $0, $1, $2",
                 "sub.sat.s32 $0, $1, $2"), "s32", ("s32", "s32"))  # fmt: skip
    yield Group(("add.u16x2 $0, $1, $2", "add.s16x2 $0, $1, $2", "min.u16x2 $0, $1, $2",
                 "max.u16x2 $0, $1, $2", "min.s16x2 $0, $1, $2", "max.s16x2 $0, $1, $2",
                 "min.s16x2.relu $0, $1, $2", "max.s16x2.relu $0, $1, $2"), "u16x2",
                ("u16x2", "u16x2"))  # fmt: skip


def _predicates() -> Iterator[Group]:
    two = "setp.lt.u32 %p1, $1, 7; setp.gt.u32 %p2, $2, 7; "
    yield Group(
        (*(two + f"{name}.pred $0, %p1, %p2" for name in ("and", "or", "xor")),
         two + "not.pred $0, %p2", two + "mov.pred $0, %p2",
         *(two + f"setp.lt.{join}.u32 $0, $1, $2, %p2" for join in ("and", "or", "xor")),
         *(two + f"setp.lt.{join}.u32 $0, $1, $2, !%p1" for join in ("and", "or")),
         two + "setp.lt.and.u32 %p2|$0, $1, $2, %p2", two + "setp.lt.or.u32 $0|%p3, $1, $2, %p2",
         "setp.lt.u32 %p3|$0, $1, $2"), "pred", ("shift", "shift"))  # fmt: skip
    yield Group(("set.lt.u32.u32 $0, $1, $2", "set.ge.s32.s32 $0, $1, $2",
                 two + "set.lt.and.u32.u32 $0, $1, $2, %p2"), "u32", ("u32", "u32"))  # fmt: skip
    yield Group(("set.lt.f32.u32 $0, $1, $2",), "f32", ("u32", "u32"))
    for t in ("f32", "f64"):
        yield Group((f"set.ltu.u32.{t} $0, $1, $2",), "u32", (t, t))
    yield Group(("set.gt.ftz.f32.f32 $0, $1, $2",), "f32", ("f32", "f32"))
    for space in ("global", "shared", "local", "const"):
        place = "cvta.shared.u64 %l5, %l5; " if space == "shared" else ""
        yield Group((f"mov.u64 %l5, $1; {place}isspacep.{space} $0, %l5",
                     f"isspacep.{space} $0, $1"), "pred", ("u64",))  # fmt: skip
    yield Group(("cvta.local.u64 $0, $1", "cvta.to.shared.u64 $0, $1", "cvta.global.u64 $0, $1"),
                "u64", ("u64",))  # fmt: skip


def _floats() -> Iterator[Group]:
    for t in ("f32", "f64"):
        ftz, sat = ("- ftz", "- sat") if t == "f32" else ("-", "-")
        two, three = f".{t} $0, $1, $2", f".{t} $0, $1, $2, $3"
        for name in ("add", "sub", "mul"):
            yield Group(_each(name + "{}{}{}" + two, "- rn rz rm rp", ftz, sat), t, (t, t))
        for name in ("fma", "mad"):
            yield Group(_each(name + "{}{}{}" + three, "rn rz rm rp", ftz, sat), t, (t, t, t))
        directions = "rn rz rm rp"
        yield Group((*_each("div{}{}" + two, directions, ftz),
                     *(_each("div{}{}" + two, "approx full", ftz) if t == "f32" else ())),
                    t, (t, t))  # fmt: skip
        yield Group((*_each("rcp{}{}" + f".{t} $0, $1", directions, ftz),
                     *_each("sqrt{}{}" + f".{t} $0, $1", directions, ftz),
                     f"rcp.approx.ftz.{t} $0, $1", f"rsqrt.approx.{t} $0, $1",
                     f"rsqrt.approx.ftz.{t} $0, $1", *_each("neg{}" + f".{t} $0, $1", ftz),
                     *_each("abs{}" + f".{t} $0, $1", ftz)), t, (t,))  # fmt: skip
        for name in ("min", "max"):
            single = ("- NaN", "- xorsign.abs") if t == "f32" else ("-", "-")
            yield Group(_each(name + "{}{}{}" + two, ftz, *single), t, (t, t))
        yield Group((f"copysign.{t} $0, $1, $2",), t, (t, t))
        yield Group(
            _each("testp{}" + f".{t} $0, $1", "finite infinite number notanumber normal subnormal"),
            "pred",
            (t,),
        )
        yield Group(tuple(f"setp.{c}{f}.{t} $0, $1, $2" for c in (*ORDERED, *UNORDERED)
                          for f in (("", ".ftz") if t == "f32" else ("",))),
                    "pred", (t, t))  # fmt: skip
    for name in ("add", "sub", "mul"):
        yield Group(_each(name + "{}{}.f32x2 $0, $1, $2", "- rn rz rm rp", "- ftz"), "f32x2",
                    ("f32x2", "f32x2"))  # fmt: skip
    yield Group(_each("fma{}{}.f32x2 $0, $1, $2, $3", "rn rz rm rp", "- ftz"), "f32x2",
                ("f32x2", "f32x2", "f32x2"))  # fmt: skip
    for name in ("min", "max"):
        yield Group(_each(name + "{}{}{}.f32 $0, $1, $2, $3", "- ftz", "- NaN", "- abs"), "f32",
                    ("f32", "f32", "f32"))  # fmt: skip
    for half in ("f16", "bf16"):
        for name in ("add", "sub"):
            yield Group(_each(name + "{}{}.f32." + half + " $0, $1, $2", "- rn rz rm rp", "- sat"),
                        "f32", (half, "f32"))  # fmt: skip
        yield Group(_each("fma{}{}.f32." + half + " $0, $1, $2, $3", "rn rz rm rp", "- sat"), "f32",
                    (half, half, "f32"))  # fmt: skip
    texts = [f"{name}.approx{ftz}.f32 $0, $1" for name in ("ex2", "lg2", "sin", "cos")
             for ftz in ("", ".ftz")]  # fmt: skip
    yield Group((*texts, "tanh.approx.f32 $0, $1"), "f32", ("f32",))


def _halves() -> Iterator[Group]:
    for t in HALVES:
        two, three, brain = f".{t} $0, $1, $2", f".{t} $0, $1, $2, $3", t.startswith("bf")
        ftz, sat = ("-", "-") if brain else ("- ftz", "- sat")
        flushes = ("",) if brain else ("", ".ftz")
        for name in ("add", "sub", "mul"):
            yield Group(_each(name + "{}{}{}" + two, "- rn", ftz, sat), t, (t, t))
        yield Group((*_each("fma.rn{}{}" + three, ftz, "- relu"),
                     *_each("fma.rn{}{}" + three, ftz, sat)), t, (t, t, t))  # fmt: skip
        for name in ("min", "max"):
            yield Group(_each(name + "{}{}{}" + two, ftz, "- NaN", "- xorsign.abs"), t, (t, t))
        yield Group((*_each("neg{}" + f".{t} $0, $1", ftz), *_each("abs{}" + f".{t} $0, $1", ftz),
                     f"ex2.approx{'.ftz' if brain else ''}.{t} $0, $1",
                     f"tanh.approx.{t} $0, $1"), t, (t,))  # fmt: skip
        both = "; selp.u32 %r10, 1, 0, %p1; selp.u32 %r11, 2, 0, %p2; add.u32 $0, %r10, %r11"
        third = "setp.lt.u32 %p3, %t, 100; "
        if t.endswith("x2"):
            some = "mov.b32 $0, $1; and.b32 %r9, %t, 1; setp.eq.u32 %p1, %r9, 0; @%p1 "
            yield Group((f"{some}fma.rn.relu.{t} $0, $1, $2, $3",), t, (t, t, t))
            yield Group((*(f"setp.{c}{f}.{t} %p1|%p2, $1, $2{both}" for c in (*ORDERED, *UNORDERED)
                           for f in flushes),
                         f"{third}setp.lt.or.{t} %p1|%p2, $1, $2, %p3{both}",
                         f"set.lt.u32.{t} $0, $1, $2",
                         f"{third}set.lt.xor.u32.{t} $0, $1, $2, %p3",
                         f"set.geu{flushes[-1]}.{t}.{t} $0, $1, $2"), "u32", (t, t))  # fmt: skip
            continue
        yield Group((*(f"setp.{c}{f}.{t} $0, $1, $2" for c in (*ORDERED, *UNORDERED)
                       for f in flushes),
                     f"{third}setp.gt.and.{t} $0, $1, $2, %p3"), "pred", (t, t))  # fmt: skip
        yield Group((f"set.lt.u32.{t} $0, $1, $2", f"set.lt.s32.{t} $0, $1, $2"), "u32", (t, t))
        yield Group((f"set.lt.u16.{t} $0, $1, $2", f"set.neu{flushes[-1]}.s16.{t} $0, $1, $2",
                     f"set.ge.{t}.{t} $0, $1, $2"), "u16", (t, t))  # fmt: skip


def _conversions() -> Iterator[Group]:
    integers, reals = ("u8", "s8", *INTEGERS), ("f16", "bf16", "f32", "f64")
    for source, to in itertools.product((*integers, *reals), repeat=2):
        yield _converted(to, source, "- rn rz rm rp rni rzi rmi rpi", "- ftz", "- sat")
    for to in ("f16", "bf16", "f16x2", "bf16x2", "tf32"):
        others = ("- ftz", "- sat") if to in reals else ()
        yield _converted(to, "f32", "rn rna rz rm rp", "- relu", "- satfinite", *others)


def _fp8() -> Iterator[Group]:
    for pair in ("e4m3x2", "e5m2x2"):
        narrow, wide = f"cvt.rn.satfinite{{}}.{pair}", f"cvt.rn{{}}.f16x2.{pair} $0, $1"
        yield Group(_each(f"{narrow}.f32 $0, $1, $2", "- relu"), "u16", ("f32", "f32"))
        yield Group(_each(f"{narrow}.f16x2 $0, $1", "- relu"), "u16", ("f16x2",))
        yield Group(_each(wide, "- relu"), "f16x2", ("u16",))


def _converted(to: str, source: str, *choices: str) -> Group:
    """The conversion, with every combination of modifiers that is valid for it."""
    modifiers = [m.strip(".").split(".") if m else [] for m in _each("{}" * len(choices), *choices)]
    known = [m for m in modifiers if signatures.converts(m, to, source)]
    operands_ = "$0, $1, $2" if to.endswith("x2") else "$0, $1"
    return Group(
        tuple(".".join(["cvt", *words, to, source]) + " " + operands_ for words in known), to,
        (source,) * (2 if to.endswith("x2") else 1))  # fmt: skip


def _wide_results() -> Iterator[Group]:
    # Registers that are wider than the results written to them.
    yield Group(("cvt.s8.s32 $0, $1", "cvt.s16.s32 $0, $1", "cvt.u8.u32 $0, $1"), "s64", ("s32",))
    yield Group(("cvt.rni.s8.f32 $0, $1", "cvt.rzi.u16.f32 $0, $1"), "u32", ("f32",))


def _moves() -> Iterator[Group]:
    yield Group(("mov.b32 $0, {$1, $2}",), "u32", ("u16", "u16"))
    yield Group(("mov.b64 $0, {$1, $2}",
                 "mov.b32 {%h5, %h6}, $1; mov.b64 $0, {%h6, %h5, %h6, %h5}"),
                "u64", ("u32", "u32"))  # fmt: skip
    yield Group(("mov.b32 {%h5, %h6}, $1; cvt.u32.u16 $0, %h6",
                 "mov.b32 {%q5, %q6, %q7, %q8}, $1; mov.b32 $0, {%q6, %q5, %q8, %q5}",
                 "mov.b32 {%h5, _}, $1; mov.b16 {%q5, %q6}, %h5; mov.b16 %h6, {%q6, %q5}; "
                 "cvt.u32.u16 $0, %h6"), "u32", ("u32",))  # fmt: skip
    yield Group(
        (
            "mov.b64 {%r5, %r6}, $1; sub.u32 $0, %r5, %r6",
            "mov.b64 {%h5, %h6, %h7, %h8}, $1; mov.b32 $0, {%h7, %h6}",
        ),
        "u32",
        ("u64",),
    )


ARITHMETIC = (_integers, _predicates, _floats, _halves, _conversions, _fp8, _wide_results, _moves)
