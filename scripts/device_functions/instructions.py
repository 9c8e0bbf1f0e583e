"""PTX instructions that round, each as a kernel, with operands chosen to test rounding.

`on_gpu.py` records a GPU's results; test_rounded_instructions.py, among the machine-code tests,
compares both front ends of the emulator with them, and with exact arithmetic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

COUNT: Final = 2048
"""The number of operands per instruction: this many threads execute it once each."""
BLOCK: Final = 256

_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_HALVES, _FLOATS = ("f16", "bf16"), ("f32", "f64")
_DIRECTED = ("rz", "rm", "rp")
_ROUNDINGS = ("rn", *_DIRECTED)
_WHOLE = ("rni", "rzi", "rmi", "rpi")
_REGISTERS = {8: "h", 16: "h", 32: "r", 64: "l"}
PRECISION: Final = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
"""Floating-point type → the bits of its significand, including the leading one."""


@dataclass(frozen=True)
class Case:
    """An instruction. In its text, `$0` is the result, and `$1` … are the operands."""

    text: str
    result: str
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.text.split(" ")[0] if ";" not in self.text else self.text

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The parts of the opcode that are not types."""
        opcode = self.name.split(".")[1:]
        return tuple(opcode[: len(opcode) - (2 if self.name.startswith("cvt") else 1)])

    @property
    def refused(self) -> bool:
        """Return whether ptxas compiles the instruction to an unsupported one (F2IP, or a rare form
        of F2FP)."""
        pair = self.name.partition(".")[0] == "cvt" and (self.sources[0], self.result)
        narrowed = "relu" in self.modifiers and not self.result.endswith("x2")
        return (
            (pair == ("f32", "u8") and bool({"rni", "rzi"} & set(self.modifiers)))
            or (pair == ("f32", "b32") and "rna" not in self.modifiers)
            or (bool(pair) and narrowed)
        )


def cases() -> list[Case]:
    return [*_conversions(), *_narrowings(), *_arithmetic(), *_halves(), *_carries()]


def _conversions() -> Iterator[Case]:
    """Every `cvt` that ptxas accepts for sm_90, except those between integers."""
    reals = _HALVES + _FLOATS
    for to, source in product(_INTEGERS + reals, repeat=2):
        if to in _INTEGERS and source in _INTEGERS:
            continue
        if "bf16" in (to, source) and bits(to if source == "bf16" else source) == 8:
            continue
        for rounding, flags in product(_roundings(to, source), _flags(to, source)):
            opcode = ".".join(part for part in ("cvt", rounding, flags, to, source) if part)
            yield Case(f"{opcode} $0, $1", to, (source,))


def _roundings(to: str, source: str) -> Sequence[str]:
    if to in _INTEGERS:
        return _WHOLE
    if source in _INTEGERS:
        return _ROUNDINGS
    if to == source:
        return _WHOLE if to == "bf16" else ("", *_WHOLE)
    if "bf16" in (to, source):
        return _ROUNDINGS if to == "bf16" and source != "f16" else ("", *_ROUNDINGS)
    return _ROUNDINGS if bits(to) < bits(source) else ("",)


def _flags(to: str, source: str) -> Sequence[str]:
    flushes = ("", "ftz") if "f32" in (to, source) else ("",)
    if "bf16" in (to, source):
        return flushes
    return [".".join(filter(None, both)) for both in product(flushes, ("", "sat"))]


def _arithmetic() -> Iterator[Case]:
    sums, quotients = ("", "ftz", "sat", "ftz.sat"), ("", "ftz")
    for name, count, modifiers in (
        ("add", 2, sums), ("sub", 2, sums), ("mul", 2, sums), ("fma", 3, sums),
        ("div", 2, quotients), ("rcp", 1, quotients), ("sqrt", 1, quotients),
    ):  # fmt: skip
        operands = ", ".join(f"${n}" for n in range(count + 1))
        for type_, rounding in product(_FLOATS, _ROUNDINGS):
            for flags in modifiers if type_ == "f32" else ("",):
                opcode = ".".join(part for part in (name, rounding, flags, type_) if part)
                yield Case(f"{opcode} {operands}", type_, (type_,) * count)


def _narrowings() -> Iterator[Case]:
    """Conversions with `.relu`, conversions of pairs, and conversions to tf32."""
    for to, rounding, relu in product(_HALVES, ("rn", "rz"), ("", ".relu")):
        if relu:
            yield Case(f"cvt.{rounding}.relu.{to}.f32 $0, $1", to, ("f32",))
        yield Case(f"cvt.{rounding}{relu}.{to}x2.f32 $0, $1, $2", f"{to}x2", ("f32", "f32"))
    for how in ("rna", "rn", "rz", "rn.relu", "rz.relu"):
        yield Case(f"cvt.{how}.tf32.f32 $0, $1", "b32", ("f32",))


def _halves() -> Iterator[Case]:
    """Arithmetic on pairs of halves, with independent operands."""
    sums = ("rn", "rn.sat", "rn.ftz", "rn.ftz.sat")
    forms = {
        ("add", "f16x2"): sums, ("sub", "f16x2"): sums, ("mul", "f16x2"): sums,
        ("fma", "f16x2"): (*sums, "rn.relu", "rn.ftz.relu"), ("fma", "bf16x2"): ("rn", "rn.relu"),
        ("add", "bf16x2"): ("rn",), ("sub", "bf16x2"): ("rn",), ("mul", "bf16x2"): ("rn",),
        ("min", "f16x2"): ("", "ftz", "NaN", "ftz.NaN", "xorsign.abs"),
        ("max", "f16x2"): ("", "ftz", "NaN", "ftz.NaN", "NaN.xorsign.abs"),
        ("min", "bf16x2"): ("", "NaN", "xorsign.abs"), ("max", "bf16x2"): ("", "NaN"),
        ("min", "f32"): ("", "ftz", "NaN", "ftz.NaN", "xorsign.abs"),
        ("max", "f32"): ("", "ftz", "NaN", "ftz.NaN", "NaN.xorsign.abs"),
        ("min", "f64"): ("",), ("max", "f64"): ("",),
    }  # fmt: skip
    for (name, type_), modifiers in forms.items():
        count = 3 if name == "fma" else 2
        operands = ", ".join(f"${n}" for n in range(count + 1))
        for each in modifiers:
            opcode = ".".join(part for part in (name, each, type_) if part)
            yield Case(f"{opcode} {operands}", type_, (type_,) * count)


def _carries() -> Iterator[Case]:
    """Instructions that set the condition code, combined with instructions that use it."""
    sets = ("add.cc.{0} $0, $1, $2", "sub.cc.{0} $0, $1, $2", "mad.lo.cc.u32 $0, $1, $2, $1")
    takes = ("addc.{0} $0, $2, $1", "subc.{0} $0, $2, $1", "madc.hi.u32 $0, $1, $2, $2")
    through = ("", "subc.cc.{0} $0, $1, $2; ", "addc.cc.{0} $0, $1, $2; ")
    for type_, first, middle, last in product(("u32", "u64"), sets, through, takes):
        if type_ == "u32" or "mad" not in first + last:
            text = f"{first}; {middle}{last}".format(type_)
            yield Case(text, type_, (type_, type_))


def bits(type_: str) -> int:
    single, pair, _ = type_.partition("x")
    return int(single.lstrip("usbf")) * (2 if pair else 1)


def groups(listed: Sequence[Case]) -> dict[tuple[str, ...], list[Case]]:
    """Group instructions with the same types and front ends, which share a kernel."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in listed:
        found.setdefault((case.result, *case.sources, *(["PTX"] * case.refused)), []).append(case)
    return found


def kernel(together: Sequence[Case], name: str) -> str:
    """A PTX kernel that executes each of these instructions once in each thread.

    The parameters are the operand arrays and the result array, with one element per instruction and
    thread.
    """
    places = [*(f"p{n}" for n in range(len(together[0].sources))), "out"]
    parameters = ", ".join(f".param .u64 {place}" for place in places)
    result = together[0].result
    lines = []
    for number, (place, type_) in enumerate(
        zip(places, (*together[0].sources, result), strict=True)
    ):
        lines += [
            f"ld.param.u64 %a{number}, [{place}];",
            f"mad.wide.u32 %a{number}, %i, {bits(type_) // 8}, %a{number};",
        ]
        if place != "out":
            lines.append(
                f"ld.global.{_stored(type_)} {_register(type_, number + 1)}, [%a{number}];"
            )
    for number, case in enumerate(together):
        text = case.text.replace("$0", _register(result, 0))
        for operand, type_ in enumerate(case.sources, 1):
            text = text.replace(f"${operand}", _register(type_, operand))
        at = f"[%a{len(places) - 1}+{number * COUNT * bits(result) // 8}]"
        lines += [f"{text};", f"st.global.{_stored(result)} {at}, {_register(result, 0)};"]
    body = "\n    ".join(lines)
    return f""".visible .entry {name}({parameters})
{{
    .reg .b16 %h<4>; .reg .b32 %r<4>; .reg .b64 %l<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;
    .reg .b64 %a<4>; .reg .b32 %i, %t;
    mov.u32 %i, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.u32 %i, %i, %t;
    mov.u32 %t, %tid.x;
    add.u32 %i, %i, %t;
    {body}
    ret;
}}
"""


def module(listed: Sequence[Case]) -> str:
    """PTX with a kernel for each group: k0, k1 …"""
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    kernels = (kernel(each, f"k{number}") for number, each in enumerate(groups(listed).values()))
    return head + "".join(kernels)


def _register(type_: str, number: int) -> str:
    letter = {"f32": "f", "f64": "d"}.get(type_) or _REGISTERS[bits(type_)]
    return f"%{letter}{number}"


def _stored(type_: str) -> str:
    return type_ if type_ in _FLOATS else f"{'u' if bits(type_) == 8 else 'b'}{bits(type_)}"


# --- operands ---------------------------------------------------------------------------------


def operands(sources: Sequence[str], seed: int = 1) -> list[np.ndarray]:
    """An array of bit patterns for each operand, in the operand's type."""
    types = tuple(type_.removesuffix("x2") for type_ in sources)
    parts = [_operands(types, each) for each in (seed, seed + 4)]
    if not sources[0].endswith("x2"):
        return parts[0]
    return [low | high.astype(np.uint32) << np.uint32(16) for low, high in zip(*parts, strict=True)]


def _operands(types: tuple[str, ...], seed: int) -> list[np.ndarray]:
    first = patterns(types[0], seed)
    drawn = [first, *(_beside(first, t, seed + n) for n, t in enumerate(types[1:], 1))]
    if len(types) > 1 and types[0] in PRECISION:  # all pairs of edges, most triples
        edges = _edges(types[0])
        at = np.arange(len(edges) ** 2)
        for number, each in enumerate(drawn):
            chosen = (at % len(edges), at // len(edges), at % len(edges) * 5 + at // len(edges))
            each[-len(at) :] = edges[chosen[number] % len(edges)]
    return [np.ascontiguousarray(each) for each in drawn]


def patterns(type_: str, seed: int) -> np.ndarray:
    """Generate numbers between those of a narrower type, plus the ends of the range and NaN."""
    random = _random(f"{type_} {seed}", 4)
    dtype = np.dtype(f"u{bits(type_) // 8}")
    drawn = (_reals if type_ in PRECISION else _whole)(type_, random)
    edges = _edges(type_)
    drawn[: len(edges)] = edges
    return drawn.astype(dtype)


def _reals(type_: str, random: np.ndarray) -> np.ndarray:
    """Generate floats with random signs, exponents near the limits of other types, and fractions
    that end in ties."""
    digits = PRECISION[type_] - 1
    exponents = bits(type_) - 1 - digits
    bias = (1 << exponents - 1) - 1
    ends = np.array([0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, -14, -15, -24, -25, -126, -127,
                     -133, -134, -149, -150, -1022, 1023])  # fmt: skip
    near = ends[random[0] % len(ends)] + (random[1] % 3).astype(np.int64) - 1
    exponent = np.clip(near + bias, 0, (1 << exponents) - 2).astype(np.uint64)
    anywhere = random[1] >> 32 & 1 == 1
    exponent = np.where(anywhere, random[0] >> 20, exponent) & ((1 << exponents) - 1)
    fraction = _ending_in_ties(random[2], random[3], digits)
    sign = random[3] >> 63
    return sign << (bits(type_) - 1) | exponent << digits | fraction


def _whole(type_: str, random: np.ndarray) -> np.ndarray:
    """Generate integers of every length and sign whose low bits end in ties."""
    size = bits(type_)
    long = _ending_in_ties(random[0], random[1], size)
    shifted = long >> random[2] % size
    ones = np.uint64((1 << size) - 1)
    return np.where(random[2] >> 40 & 1 == 1, ~shifted, shifted) & ones


def _ending_in_ties(random: np.ndarray, how: np.ndarray, digits: int) -> np.ndarray:
    """Generate numbers of `digits` bits. The bits below some position are 0, 1, just below half,
    half, just above half, all ones, or random."""
    ones = (1 << digits) - 1
    cut = (how % (digits + 1)).astype(np.uint64)
    one = np.uint64(1)
    half = (one << cut) >> one
    below = (one << cut) - one
    ends = np.stack([0 * cut, one & below, (half - one) & below, half, (half + one) & below, below,
                     random & below])  # fmt: skip
    chosen = np.take_along_axis(ends, (how >> 8 & 0xFF)[None] % len(ends), 0)[0]
    return (random & ~below | chosen) & ones


def _edges(type_: str) -> np.ndarray:
    size = bits(type_)
    if type_ not in PRECISION:
        top = 1 << size - 1
        return np.array([0, 1, 2, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2], np.uint64)
    digits = PRECISION[type_] - 1
    infinite = (1 << size - 1) - (1 << digits)
    quiet = infinite | 1 << digits - 1
    positive = [
        0, 1, 2, (1 << digits) - 1, 1 << digits, infinite - 1, infinite, infinite | 1, quiet,
        quiet | 1, (1 << size - 1) - 1,
    ]  # fmt: skip
    return np.array([*positive, *(p | 1 << size - 1 for p in positive)], np.uint64)


def _beside(first: np.ndarray, type_: str, seed: int) -> np.ndarray:
    """Generate a second operand: independent of the first, near it or its negative, or far larger
    or smaller."""
    other = patterns(type_, seed)
    random = _random(f"{type_} beside {seed}", 2)
    other = np.roll(other, 37 * seed).astype(np.uint64)
    if type_ not in PRECISION:
        return np.where(random[0] % 4 == 0, first, other).astype(first.dtype)
    digits, size = PRECISION[type_] - 1, bits(type_)
    top, exponent_mask = np.uint64(1 << size - 1), np.uint64((1 << size - 1 - digits) - 1)
    own = first.astype(np.uint64)
    apart = (random[1] % (3 * digits)).astype(np.uint64)
    exponent = own >> np.uint64(digits) & exponent_mask
    lower = np.where(exponent > apart, exponent - apart, 0)
    higher = np.minimum(exponent + apart, exponent_mask - np.uint64(1))
    rest = other & ~(exponent_mask << np.uint64(digits))
    choices = np.stack([
        other, own ^ top, own, own ^ top ^ np.uint64(1), rest | lower << np.uint64(digits),
        rest | higher << np.uint64(digits), random[1] % 4 | random[1] & top,
    ])  # fmt: skip
    chosen = np.take_along_axis(choices, (random[0] % len(choices))[None], 0)[0]
    ones = np.uint64((1 << size) - 1)
    return (chosen & ones).astype(first.dtype)


def _random(name: str, rows: int) -> np.ndarray:
    """Pseudo-random words that depend only on the name, not on a library's version (splitmix64)."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    at = np.arange(1, rows * COUNT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word = at + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> np.uint64(shift)) * np.uint64(factor)
    mixed = word ^ word >> np.uint64(31)
    return mixed.reshape(rows, COUNT)


def digest(results: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(results).tobytes()).hexdigest()[:16]
