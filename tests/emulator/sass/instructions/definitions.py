"""Definitions of machine instructions by opcode, from the PTX manual; for carries and DSETP.MIN,
those of the engine.

A definition takes an instruction and the state before it, and returns the results: those of its
first register (one word or two), and of its predicates. Floats are chosen so that every sum and
product is exact, and rounding does not matter; other tests cover rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from one_by_one import LANES, Words
from reader import WORD, Reader, Wide

Results = tuple[list[Words], list[Any]]
_FULL = (1 << 64) - 1


def _int(value: Wide) -> Results:
    return [(value & WORD).astype(np.uint32)], []


def _wide(value: Wide) -> Results:
    return [((value >> n) & WORD).astype(np.uint32) for n in (0, 32)], []


def _float(value: Any, _: Reader | None = None) -> Results:
    return [np.asarray(value, np.float32).view(np.uint32)], []


def _double(value: Any, _: Reader | None = None) -> Results:
    words = np.ascontiguousarray(np.asarray(value, np.float64)).view(np.uint32).reshape(LANES, 2)
    return [words[:, 0].copy(), words[:, 1].copy()], []


def _halves(value: Any, r: Reader) -> Results:
    if r.has("RELU"):
        value = np.where(value < 0, 0.0, value)
    if r.has("BF16_V2"):
        words = value.astype(np.float32).view(np.uint32)
        return [words[:, 0] >> np.uint32(16) | words[:, 1] & np.uint32(0xFFFF0000)], []
    return [np.ascontiguousarray(value.astype(np.float16)).view(np.uint32)[:, 0].copy()], []


def _clipped(r: Reader, value: Any) -> Any:
    return np.where(np.isnan(value), 0, np.clip(value, 0, 1)) if r.has("SAT") else value


def _iadd3(r: Reader) -> Results:
    if r.has("64"):
        return _wide(sum(r.q(n) for n in range(3)))
    total = r.u(0) + r.u(1) + r.u(2)
    if r.has("X"):
        total = total + sum(r.p(n).astype(object) for n in range(len(r.predicates)))
    return _int(total)[0], [total >> 32 >= 1, total >> 32 >= 2]


def _iadd(r: Reader) -> Results:
    return _wide(r.q(0) + r.q(1)) if r.has("64") else _int(r.u(0) + r.u(1))


def _imad(r: Reader) -> Results:
    if r.has("WIDE") or r.has("HI"):
        a, b = r.number(0), r.number(1)
        total = (a * b & _FULL) + r.q(2)
        if r.has("HI"):
            return _int(total >> 32)[0], [total >> 64 >= 1]
        return _wide(total)[0], [total >> 64 >= 1]
    carry = r.p().astype(object) if r.has("X") and r.predicates else 0
    return _int(r.u(0) * r.u(1) + r.u(2) + carry)


def _bytes(words: Any) -> Any:
    return np.stack([words >> 8 * n & 255 for n in range(4)])


def _of_bytes(parts: Any) -> Results:
    return _int(sum((part & 255) << 8 * n for n, part in enumerate(parts)))


def _extreme(r: Reader) -> Results:
    if r.has("U8x4"):
        return _of_bytes(_larger(r, *(_bytes(r.u(n) & WORD) for n in (0, 1))))
    if r.has("S16x2") or r.has("U16x2"):
        halves = [np.stack([r.u(n) & 0xFFFF, r.u(n) >> 16 & 0xFFFF]) for n in (0, 1)]
        if r.has("S16x2"):
            halves = [np.where(x >> 15 == 1, x - (1 << 16), x) for x in halves]
        low, high = np.maximum(_larger(r, *halves), 0 if r.has("RELU") else -(1 << 15)) & 0xFFFF
        return _int(low | high << 16)
    if r.has("S64") or r.has("U64"):
        a, b = r.q(0), r.q(1)
        if r.has("S64"):
            a, b = (np.where(x >> 63 == 1, x - (1 << 64), x) for x in (a, b))
        return _wide(_larger(r, a, b) & _FULL)
    a, b, *rest = (r.number(n) for n in range(len(r.sources)))
    if r.each.opcode.endswith("VIADDMNMX"):
        a, b = _signed_again(r, a + b), rest[0]
    found = _larger(r, a, b)
    return _int(np.maximum(found, 0) if r.has("RELU") else found)


def _larger(r: Reader, a: Any, b: Any) -> Any:
    return np.where(r.p(), np.minimum(a, b), np.maximum(a, b))


def _sum(r: Reader) -> Results:
    if r.has("U8x4"):
        signs = [-1 if operand.negated else 1 for operand in r.sources]
        plain = [_bytes(r.state.word(operand).astype(object)) for operand in r.sources]
        return _of_bytes(signs[0] * plain[0] + signs[1] * plain[1])
    return _int(r.u(0) + r.u(1))


def _extended(r: Reader) -> Results:
    bits = r.u(1)
    value = r.u(0) & ((1 << bits) - 1)
    negative = (value >> (bits - 1) == 1) & (not r.has("U32"))
    return _int(np.where(negative, value - (1 << bits), value))


def _products(r: Reader) -> Results:
    return _int((_bytes(r.u(0)) * _bytes(r.u(1))).sum(axis=0) + r.u(2))


def _signed_again(r: Reader, value: Wide) -> Wide:
    value = value & WORD
    return value if r.has("U32") else np.where(value >> 31 == 1, value - (1 << 32), value)


_ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
    "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip


_NAMES = {*_ORDERS, *(f"{name}U" for name in _ORDERS), "NAN", "NUM"}


def _holds(r: Reader, a: Any, b: Any) -> Any:
    """A comparison by its name; those with a U also hold for unordered operands."""
    name = next(m for m in r.each.modifiers if m in _NAMES)
    unordered = np.isnan(a.astype(float)) | np.isnan(b.astype(float))
    if name in ("NAN", "NUM"):
        return unordered ^ (name == "NUM")
    found = _ORDERS[name[:2]](a, b).astype(bool)
    return found | unordered if name.endswith("U") else found & ~unordered


def _combined(r: Reader, found: Any, with_: Any) -> list[Any]:
    name = next(m for m in r.each.modifiers if m in ("AND", "OR", "XOR"))
    by = {"AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor}[name]
    return [by(found, with_), by(~found, with_)]


def _isetp(r: Reader) -> Results:
    if r.has("S64") or r.has("U64"):
        a, b = r.q(0), r.q(1)
        if r.has("S64"):
            a, b = (np.where(x >> 63 == 1, x - (1 << 64), x) for x in (a, b))
    else:
        a, b = r.number(0), r.number(1)
    found = _holds(r, a, b)
    if r.has("EX"):  # upper words; if they are equal, the lower words' result counts
        below = r.p(1)
        found = (a != b) | below if r.has("NE") else np.where(a == b, below, _strictly(r, a, b))
        found = found.astype(bool)
    return [], _combined(r, found, r.p(0))


def _strictly(r: Reader, a: Any, b: Any) -> Any:
    name = next(m for m in r.each.modifiers if m in _ORDERS)
    return {"L": a < b, "G": a > b, "E": a == b}[name[0]]


def _shifted(r: Reader) -> Results:
    low, by, high = r.u(0), r.u(1) & 63, r.u(2)
    by = by & 31 if r.has("W") else np.minimum(r.u(1), 32)
    both = low | high << 32
    if r.has("R"):
        return _int(high >> by if r.has("HI") else both >> by)
    return _int(both << by >> 32 if r.has("HI") else low << by)


def _lea(r: Reader) -> Results:
    if not r.has("HI"):
        total = ((r.u(0) << r.u(2)) & WORD) + r.u(1)
        return _int(total)[0], [total >> 32 >= 1]
    if r.has("SX32"):
        a, b, by = r.u(0) | (r.s(0) >> 31 & WORD) << 32, r.u(1), r.u(2)
    else:
        a, b, by = r.u(0) | r.u(2) << 32, r.u(1), r.u(3)
    carry = r.p().astype(object) if r.has("X") and r.predicates else 0
    total = ((a << by) >> 32 & WORD) + b + carry
    return _int(total)[0], [total >> 32 >= 1]


def _logic(r: Reader) -> Results:
    a, b, c, table = (r.u(n) for n in range(4))
    value = np.zeros(LANES, object)
    for n in range(8):
        taken = [x if n >> bit & 1 else WORD - x for x, bit in ((a, 2), (b, 1), (c, 0))]
        value = value | np.where(table >> n & 1 == 1, taken[0] & taken[1] & taken[2], 0)
    return _int(value)[0], [value != 0]


def _arithmetic(read: str, to: Callable[[Any, Reader], Results]) -> Callable[[Reader], Results]:
    def defined(r: Reader) -> Results:
        a, b, *c = (getattr(r, read)(n) for n in range(len(r.sources)) if n < 3)
        name = r.each.opcode.removeprefix("U")[1:]
        with np.errstate(all="ignore"):
            value = a + b if name.startswith("ADD") else a * b if name.startswith("MUL") else None
            return to(_clipped(r, a * b + c[0] if value is None else value), r)

    return defined


def _fsetp(r: Reader, read: str = "f") -> Results:
    a, b = getattr(r, read)(0), getattr(r, read)(1)
    if r.has("MIN"):  # whether the first is chosen (-0 before +0), and whether both are NaN
        first = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
        return [], [~np.isnan(a) & (np.isnan(b) | first), np.isnan(a) & np.isnan(b)]
    found = _holds(r, a, b)
    if read == "h":
        return [], [_combined(r, found[:, n], r.p(0))[0] for n in (0, 1)]
    return [], _combined(r, found, r.p(0))


def _to_integer(r: Reader) -> Results:
    way = {"CEIL": np.ceil, "FLOOR": np.floor, "TRUNC": np.trunc}
    rounded = next((way[m] for m in r.each.modifiers if m in way), np.rint)(r.f(0).astype(float))
    name = next((m for m in r.each.modifiers if m[0] in "US" and m[1:].isdigit()), "S32")
    bits = int(name[1:])
    low, high = (0, 2**bits - 1) if name[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    value = np.where(np.isnan(rounded), 0, np.clip(rounded, low, high))
    return _int(np.array([int(each) for each in value], object))


def _from_integer(r: Reader) -> Results:
    name = next((m for m in r.each.modifiers if m[0] in "US"), "S32")
    bits, operand = int(name[1:]), r.sources[0]
    value = r.q(0) if bits == 64 else r.u(0)
    byte = next((int(s[1]) for s in operand.suffixes if s[0] == "B"), 0)
    value = value >> 8 * byte & ((1 << bits) - 1)
    if name[0] == "S":
        value = np.where(value >> (bits - 1) == 1, value - (1 << bits), value)
    exact = value.astype(np.float64)
    near = exact.astype(np.float32)
    away, up = np.abs(near.astype(float)) > np.abs(exact), near.astype(float) < exact
    if r.has("RZ"):
        near = np.where(away, np.nextafter(near, np.float32(0)), near)
    if r.has("RP"):
        near = np.where(up, np.nextafter(near, np.float32(np.inf)), near)
    return _float(near)


def _packed(r: Reader) -> Results:
    if r.has("BF16"):
        words = [r.f(n).astype(np.float32).view(np.uint32).astype(object) >> 16 for n in (0, 1)]
    else:
        words = [r.f(n).astype(np.float16).view(np.uint16).astype(object) for n in (0, 1)]
    return _int(words[0] << 16 | words[1])


def _converted(r: Reader) -> Results:
    if r.has("F64", "F32"):
        return _double(r.f(0))
    return _int(r.f(0).astype(np.float16).view(np.uint16).astype(object))


def _loaded(r: Reader) -> Results:
    words = {"64": 2, "128": 4}
    count = next((words[m] for m in r.each.modifiers if m in words), 1)
    found = [r.state.word(r.sources[0], n) for n in range(count)]
    if r.has("S8") or r.has("U8"):
        value = found[0].astype(object) & 255
        found = _int(np.where((value >> 7 == 1) & r.has("S8"), value - 256, value))[0]
    return found, []


def _half_sum(r: Reader) -> Results:
    with np.errstate(all="ignore"):
        total = r.h(0) + r.h(1)
    return _float(total[:, 0]) if r.has("F32") else _halves(_clipped(r, total), r)


def _chosen(r: Reader) -> Results:
    if r.has("64"):
        return _wide(np.where(r.p(), r.q(0), r.q(1)))
    if r.each.opcode.startswith("F"):
        return _float(np.where(r.p(), r.f(0), r.f(1)))
    return _int(np.where(r.p(), r.u(0), r.u(1)))


def _three(r: Reader) -> Results:
    a, b, c = (r.f(n) for n in range(3))
    least = r.p()
    return _float(np.where(least, np.fmin(np.fmin(a, b), c), np.fmax(np.fmax(a, b), c)))


def _predicates(r: Reader) -> Results:
    a, b, c = (r.p(n) for n in range(3))
    index = a.astype(int) << 2 | b.astype(int) << 1 | c.astype(int)
    return [], [int(r.u(n)[0]) >> index & 1 == 1 for n in (0, 1)]


with_halves = _arithmetic("h", _halves)
DEFINITIONS: Mapping[str, Callable[[Reader], Results]] = {
    "IADD3": _iadd3, "IADD": _iadd, "IMAD": _imad, "IMNMX": _extreme, "VIMNMX": _extreme,
    "VIADDMNMX": _extreme, "ISETP": _isetp, "SHF": _shifted, "LEA": _lea, "LOP3": _logic,
    "PLOP3": _predicates, "SEL": _chosen, "FSEL": _chosen, "FMNMX3": _three,
    "MOV": lambda r: _wide(r.q(0)) if r.has("64") else _int(r.u(0)),
    "IABS": lambda r: _int(np.abs(r.s(0))),
    "POPC": lambda r: _int(np.array([int(x).bit_count() for x in r.u(0)], object)),
    "VIADD": _sum, "SGXT": _extended, "IDP": _products,
    "FADD": _arithmetic("f", _float), "FMUL": _arithmetic("f", _float),
    "FFMA": _arithmetic("f", _float), "DADD": _arithmetic("d", _double),
    "DMUL": _arithmetic("d", _double), "DFMA": _arithmetic("d", _double),
    "HADD2": _half_sum, "HMUL2": with_halves, "HFMA2": with_halves,
    "FSETP": _fsetp, "DSETP": lambda r: _fsetp(r, "d"), "HSETP2": lambda r: _fsetp(r, "h"),
    "FSET": lambda r: _float(_fsetp(r)[1][0].astype(np.float32)),
    "F2I": _to_integer, "I2F": _from_integer, "I2FP": _from_integer, "F2FP": _packed,
    "F2F": _converted, "LDC": _loaded, "LDCU": _loaded, "ULDC": _loaded,
    "MUFU": lambda r: _float(1 / r.f(0).astype(np.float64)),
}  # fmt: skip


def definition(opcode: str) -> Callable[[Reader], Results] | None:
    return DEFINITIONS.get(opcode) or DEFINITIONS.get(opcode.removeprefix("U"))
