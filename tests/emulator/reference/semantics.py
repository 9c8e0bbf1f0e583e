"""Single instructions as the PTX ISA defines them, on Python integers, one thread at a time.

A value is the bit pattern of its register as a non-negative integer; definitions with signed values
reinterpret it. If the manual gives pseudocode with a loop over bits, this module has the same loop:
it is useful for comparison because it is slow and literal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference import video

WIDTHS = {"b16": 16, "b32": 32, "b64": 64, "pred": 1, "f32": 32}


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    value = unsigned(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def number(value: int, type_: str) -> int:
    """The number that the bits represent in a type such as s32, u16 or b64."""
    bits = int(type_[1:])
    return signed(value, bits) if type_[0] == "s" else unsigned(value, bits)


@dataclass(frozen=True)
class Definition:
    """An instruction without memory access: register kinds of its result and sources, and its
    meaning.

    A source kind may also be `lut` (an immediate byte), `byte` (b32, but an immediate is a byte) or
    `nonzero32` and `nonzero64` (for which division is defined). `template` is the written form of
    the operands.
    """

    opcode: str
    result: str
    sources: tuple[str, ...]
    meaning: Callable[..., int]
    template: str = ""

    def __call__(self, *values: int) -> int:
        return unsigned(self.meaning(*values), WIDTHS[self.result])


OPCODES: dict[str, Definition] = {}


def _define(
    opcode: str, result: str, sources: str, meaning: Callable[..., int], template: str = ""
) -> None:
    OPCODES[opcode] = Definition(opcode, result, tuple(sources.split()), meaning, template)


def _quotient(a: int, b: int) -> int:
    """The quotient, rounded towards zero, unlike Python's."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _arithmetic(type_: str) -> None:
    bits = int(type_[1:])
    kind = f"b{bits}"

    def of(value: int) -> int:
        return number(value, type_)

    two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
    _define(f"add.{type_}", kind, two, lambda a, b: a + b)
    _define(f"sub.{type_}", kind, two, lambda a, b: a - b)
    if type_ == "s32":
        low, high = -(1 << 31), (1 << 31) - 1
        _define("add.sat.s32", kind, two, lambda a, b: min(max(of(a) + of(b), low), high))
        _define("mad.hi.sat.s32", kind, three,
                lambda a, b, c: min(max((of(a) * of(b) >> 32) + of(c), low), high))  # fmt: skip
        _define("sub.sat.s32", kind, two, lambda a, b: min(max(of(a) - of(b), low), high))
    _define(f"mul.lo.{type_}", kind, two, lambda a, b: of(a) * of(b))
    _define(f"mul.hi.{type_}", kind, two, lambda a, b: of(a) * of(b) >> bits)
    _define(f"mad.lo.{type_}", kind, three, lambda a, b, c: of(a) * of(b) + c)
    _define(f"mad.hi.{type_}", kind, three, lambda a, b, c: (of(a) * of(b) >> bits) + c)
    _define(f"sad.{type_}", kind, three, lambda a, b, c: abs(of(a) - of(b)) + c)
    _define(f"min.{type_}", kind, two, lambda a, b: min(of(a), of(b)))
    _define(f"max.{type_}", kind, two, lambda a, b: max(of(a), of(b)))
    _define(f"shr.{type_}", kind, f"{kind} b32", lambda a, b: of(a) >> min(b, bits))
    _define(f"selp.{type_}", kind, f"{kind} {kind} pred", lambda a, b, p: a if p else b)
    if bits < 64:
        wide = f"b{2 * bits}"
        _define(f"mul.wide.{type_}", wide, two, lambda a, b: of(a) * of(b))
        _define(f"mad.wide.{type_}", wide, f"{two} {wide}", lambda a, b, c: of(a) * of(b) + c)
    if bits > 16:
        both = f"{kind} nonzero{bits}"
        _define(f"div.{type_}", kind, both, lambda a, b: _quotient(of(a), of(b)))
        _define(f"rem.{type_}", kind, both, lambda a, b: of(a) - _quotient(of(a), of(b)) * of(b))
        _define(f"bfe.{type_}", kind, f"{kind} byte byte", _bit_field_extract(type_))
        _define(f"bfind.{type_}", "b32", kind, _find_bit(type_, False))
        _define(f"bfind.shiftamt.{type_}", "b32", kind, _find_bit(type_, True))
    if type_[0] == "s":
        _define(f"neg.{type_}", kind, kind, lambda a: -of(a))
        _define(f"abs.{type_}", kind, kind, lambda a: abs(of(a)))


def _bit_field_extract(type_: str) -> Callable[..., int]:
    bits = int(type_[1:])

    def extract(a: int, b: int, c: int) -> int:
        position, length, top = b & 0xFF, c & 0xFF, bits - 1
        sign = 0
        if type_[0] == "s" and length:
            sign = a >> min(position + length - 1, top) & 1
        out = 0
        for i in range(bits):
            inside = i < length and position + i <= top
            out |= (a >> (position + i) & 1 if inside else sign) << i
        return out

    return extract


def _bit_field_insert(bits: int) -> Callable[..., int]:
    def insert(a: int, b: int, c: int, d: int) -> int:
        position, length = c & 0xFF, d & 0xFF
        for i in range(length):
            if position + i >= bits:
                break
            b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
        return b

    return insert


def _find_bit(type_: str, shift_amount: bool) -> Callable[[int], int]:
    bits = int(type_[1:])

    def find(a: int) -> int:
        value = number(a, type_)
        place = (~value if value < 0 else value).bit_length() - 1
        return bits - 1 - place if shift_amount and place >= 0 else place

    return find


def _bits(bits: int) -> None:
    kind = f"b{bits}"
    two = f"{kind} {kind}"
    _define(f"and.{kind}", kind, two, lambda a, b: a & b)
    _define(f"or.{kind}", kind, two, lambda a, b: a | b)
    _define(f"xor.{kind}", kind, two, lambda a, b: a ^ b)
    _define(f"not.{kind}", kind, kind, lambda a: ~a)
    _define(f"cnot.{kind}", kind, kind, lambda a: int(a == 0))
    _define(f"shl.{kind}", kind, f"{kind} b32", lambda a, b: a << min(b, bits))
    _define(f"shr.{kind}", kind, f"{kind} b32", lambda a, b: a >> min(b, bits))
    _define(f"mov.{kind}", kind, kind, lambda a: a)
    _define(f"selp.{kind}", kind, f"{kind} {kind} pred", lambda a, b, p: a if p else b)
    if bits > 16:
        _define(f"bfi.{kind}", kind, f"{kind} {kind} byte byte", _bit_field_insert(bits))
        _define(f"popc.{kind}", "b32", kind, lambda a: f"{a:b}".count("1"))
        _define(f"clz.{kind}", "b32", kind, lambda a: bits - a.bit_length())
        _define(f"brev.{kind}", kind, kind, lambda a: int(f"{a:0{bits}b}"[::-1], 2))


def _permute(a: int, b: int, c: int) -> int:
    """prmt in its default mode: bytes of {b, a}, or copies of a byte's sign."""
    pool = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for i in range(4):
        selector = c >> 4 * i & 0xF
        byte = pool[selector & 7]
        if selector & 8:
            byte = 0xFF if byte & 0x80 else 0
        out |= byte << 8 * i
    return out


def _permute_by(mode: str) -> Callable[[int, int, int], int]:
    """The named modes of prmt: which byte of {b, a} becomes each byte of the result."""
    chosen: dict[str, Callable[[int, int], int]] = {
        "f4e": lambda i, c: i + c,
        "b4e": lambda i, c: (c - i) % 8,
        "rc8": lambda _, c: c,
        "ecl": max,
        "ecr": min,
        "rc16": lambda i, c: i % 2 + 2 * (c % 2),
    }

    def permuted(a: int, b: int, c: int) -> int:
        pool = (b << 32 | a).to_bytes(8, "little")
        return int.from_bytes(bytes(pool[chosen[mode](i, c & 3)] for i in range(4)), "little")

    return permuted


def _pack(to: str) -> Callable[..., int]:
    """cvt.pack.sat: two clamped numbers, the first in the upper place; above them, the low bits of
    c, which for bytes are half a word."""
    low, high = _range(to)
    bits = int(to[1:])

    def packed(a: int, b: int, c: int = 0) -> int:
        upper, lower = (unsigned(min(max(signed(value, 32), low), high), bits) for value in (a, b))
        return unsigned(c << 2 * bits | upper << bits | lower, 32)

    return packed


def _look_up(a: int, b: int, c: int, table: int) -> int:
    out = 0
    for i in range(32):
        row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        out |= (table >> row & 1) << i
    return out


def _looked_up(combine: Callable[[int, int], int]) -> Callable[..., int]:
    """The predicate of lop3: whether any bit is set, combined with another predicate."""
    return lambda a, b, c, table, p: combine(int(_look_up(a, b, c, table) != 0), p)


def _funnel(direction: str, mode: str) -> Callable[..., int]:
    def shift(a: int, b: int, c: int) -> int:
        amount = min(c, 32) if mode == "clamp" else c & 31
        pair = b << 32 | a
        return pair << amount >> 32 if direction == "l" else pair >> amount

    return shift


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b, "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}  # fmt: skip
_BOOLEANS: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip


def _compare(type_: str, name: str) -> None:
    kind, holds = f"b{type_[1:]}", _COMPARISONS[name]
    two = f"{kind} {kind}"

    def compared(a: int, b: int) -> int:
        return int(holds(number(a, type_), number(b, type_)))

    _define(f"setp.{name}.{type_}", "pred", two, compared)
    if kind != "b16":
        _define(f"set.{name}.u32.{type_}", "b32", two, lambda a, b: -compared(a, b))
    for boolean, combine in _BOOLEANS.items():

        def combined(a: int, b: int, p: int, combine: Callable[[int, int], int] = combine) -> int:
            return combine(compared(a, b), p)

        _define(f"setp.{name}.{boolean}.{type_}", "pred", f"{two} pred", combined)


def _range(type_: str) -> tuple[int, int]:
    bits = int(type_[1:])
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type_[0] == "s" else (0, 2**bits - 1)


def _convert(to: str, source: str) -> None:
    """A result narrower than its register is extended according to its own type.

    `.sat` is valid only if a value can be out of range.
    """
    low, high = _range(to)
    least, most = _range(source)

    def saturated(a: int) -> int:
        return min(max(number(a, source), low), high)

    registers = ["b32" if t[1:] == "8" else f"b{t[1:]}" for t in (to, source)]
    _define(f"cvt.{to}.{source}", *registers, lambda a: number(number(a, source), to))
    if least < low or most > high:
        _define(f"cvt.sat.{to}.{source}", *registers, saturated)


def _permutations_and_tables() -> None:
    _define("prmt.b32", "b32", "b32 b32 b32", _permute)
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        _define(f"prmt.b32.{mode}", "b32", "b32 b32 b32", _permute_by(mode))
    _define("lop3.b32", "b32", "b32 b32 b32 lut", _look_up)
    for name in ("or", "and"):
        _define(f"lop3.{name}.b32", "pred", "b32 b32 b32 lut pred", _looked_up(_BOOLEANS[name]),
                f"lop3.{name}.b32 _|{{d}}, {{0}}, {{1}}, {{2}}, {{3}}, {{4}}")  # fmt: skip
    for to in ("u16", "s16"):
        _define(f"cvt.pack.sat.{to}.s32", "b32", "b32 b32", _pack(to))
    for to in ("u8", "s8"):
        _define(f"cvt.pack.sat.{to}.s32.b32", "b32", "b32 b32 b32", _pack(to))


def _video() -> None:
    shifts = ("u32", "u32", "u32"), ("s32", "s32", "u32")
    u32, s32 = shifts[0], ("s32", "s32", "s32")
    for name, mode, types, sat, second, place in (
        ("vadd", "", s32, "sat", "", ""), ("vsub", "", u32, "sat", "add", ""),
        ("vabsdiff", "", ("u32", "s32", "u32"), "", "", "b2"), ("vmin", "", s32, "", "max", ""),
        ("vmax", "", u32, "", "min", ""), ("vshl", "wrap", shifts[0], "", "add", ""),
        ("vshr", "clamp", shifts[1], "sat", "", ""),
    ):  # fmt: skip
        opcode = ".".join(w for w in (name, *types, sat, mode, second) if w)
        d, third = (f"{{d}}.{place}" if place else "{d}"), bool(second or place)
        _define(opcode, "b32", "b32 b32 b32" if third else "b32 b32",
                video.meaning(name, mode, types, sat, second, place, "", ""),
                f"{opcode} {d}, {{0}}, {{1}}" + ", {2}" * third)  # fmt: skip
    _define("vmad.s32.s32.s32.sat.shr7", "b32", "b32 b32 b32",
            video.meaning("vmad", "", s32, "sat", "shr7", "", ""))  # fmt: skip


def _define_all() -> None:
    for type_ in ("u16", "s16", "u32", "s32", "u64", "s64"):
        _arithmetic(type_)
        unsigned_only = ("lo", "ls", "hi", "hs") if type_[0] == "u" else ()
        for name in ("eq", "ne", "lt", "le", "gt", "ge", *unsigned_only):
            _compare(type_, name)
    for bits in (16, 32, 64):
        _bits(bits)
        for name in ("eq", "ne"):
            _compare(f"b{bits}", name)
    for direction in "lr":
        for mode in ("clamp", "wrap"):
            _define(f"shf.{direction}.{mode}.b32", "b32", "b32 b32 b32", _funnel(direction, mode))
    _permutations_and_tables()
    _video()
    _define("slct.b32.s32", "b32", "b32 b32 b32", lambda a, b, c: a if signed(c, 32) >= 0 else b)
    _define("slct.u64.s32", "b64", "b64 b64 b32", lambda a, b, c: a if signed(c, 32) >= 0 else b)
    for name, combine in _BOOLEANS.items():
        _define(f"{name}.pred", "pred", "pred pred", combine)
    _define("not.pred", "pred", "pred", lambda a: 1 - a)
    for to in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for source in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            _convert(to, source)
    _define("mov.f32", "f32", "f32", lambda a: a)
    _define("selp.f32", "f32", "f32 f32 pred", lambda a, b, p: a if p else b)
    _define("to f32", "f32", "b32", lambda a: a, "mov.b32 {d}, {0}")
    _define("from f32", "b32", "f32", lambda a: a, "mov.b32 {d}, {0}")
    _define("pack", "b64", "b32 b32", lambda a, b: b << 32 | a, "mov.b64 {d}, {{{0}, {1}}}")
    _define("low word", "b32", "b64", lambda a: a, "mov.b64 {{{d}, %rz}}, {0}")
    _define("high word", "b32", "b64", lambda a: a >> 32, "mov.b64 {{%rz, {d}}}, {0}")


_define_all()


# --- atomics and warps ------------------------------------------------------------------------


def atomic(operation: str, type_: str, old: int, b: int, c: int = 0) -> int:
    """The value that an atomic leaves in memory."""
    bits = int(type_[1:])
    if operation in ("min", "max"):
        choose = min if operation == "min" else max
        return unsigned(choose(number(old, type_), number(b, type_)), bits)
    results = {
        "add": old + b, "exch": b, "cas": c if old == b else old,
        "and": old & b, "or": old | b, "xor": old ^ b,
        "inc": 0 if old >= b else old + 1,
        "dec": b if old == 0 or old > b else old - 1,
    }  # fmt: skip
    return unsigned(results[operation], bits)


def shuffle_source(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that `shfl` reads from, and its predicate."""
    distance, clamp, segment = b & 31, c & 31, c >> 8 & 31
    most, least = lane & segment | clamp & ~segment, lane & segment
    source = {
        "up": lane - distance, "down": lane + distance, "bfly": lane ^ distance,
        "idx": least | distance & ~segment,
    }[mode]  # fmt: skip
    valid = source >= most if mode == "up" else source <= most
    return (source if valid else lane), valid
