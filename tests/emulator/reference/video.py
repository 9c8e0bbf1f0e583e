"""Video instructions as the PTX ISA defines them, on Python integers, one thread at a time.

`meaning` derives the function from an instruction's name and modifiers. Where the manual is
ambiguous, the machine code of ptxas decides: a secondary comparison (`.min`, `.max`) compares 32
bits of the first result with c, as numbers of the type of d.
"""

from __future__ import annotations

from collections.abc import Callable

Meaning = Callable[[int, int, int], int]

_FIRST: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1,
    "vshl": lambda a, b: a << b,
    "vshr": lambda a, b: a >> b,
}
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_SECOND: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, c: a + c, "min": min, "max": max,
}  # fmt: skip


def _number(bits: int, width: int, signed: bool) -> int:
    bits &= (1 << width) - 1
    return bits - (1 << width) if signed and bits >> (width - 1) else bits


def _clamped(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return min(max(value, low), high)


def _place(selector: str) -> tuple[int, int]:
    """The first bit of a part of a word, and its number of bits."""
    width = {"b": 8, "h": 16, "": 32}[selector[:1]]
    return width * int(selector[1:] or 0), width


def _taken(first: int, width: int, signed: bool) -> Callable[[int], int]:
    """Return a function that extracts a number from some bits of a word: `_number`, with its fixed
    arguments."""
    mask, sign = (1 << width) - 1, 1 << width - 1 if signed else 0
    return lambda word: (word >> first & mask ^ sign) - sign


def _part(selector: str, type_: str) -> Callable[[int], int]:
    return _taken(*_place(selector), type_ == "s32")


def _first(name: str, mode: str, a: int, b: int) -> int:
    if name == "vset":
        return int(_HOLDS[mode](a, b))
    if mode:
        b = min(b, 32) if mode == "clamp" else b & 31
    return _FIRST[name](a, b)


def meaning(name: str, mode: str, types: tuple[str, str, str], *words: str) -> Meaning:
    """`types` are those of d, a and b (`u32`, `s32`); an absent modifier is an empty word.

    `mode` is a comparison, the treatment of shifts by 32 or more, or the operand that `vmad`
    negates.
    """
    if name == "vmad":
        return _multiply_add(mode, types, *words)
    return (_several if name[-1].isdigit() else _scalar)(name, mode, types, *words)


def _scalar(
    name: str, mode: str, types: tuple[str, str, str], saturates: str, second: str, d_part: str,
    a_part: str, b_part: str,
) -> Meaning:  # fmt: skip
    """`vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`; parts as `b3` or `h0`."""
    signed = types[0] == "s32"
    of_a, of_b, (at, width) = _part(a_part, types[1]), _part(b_part, types[2]), _place(d_part)

    def compute(a: int, b: int, c: int = 0) -> int:
        value = _first(name, mode, of_a(a), of_b(b))
        if saturates:
            value = _clamped(value, width, signed)
        if second == "add":
            return value + c
        if second:
            return _SECOND[second](_number(value, 32, signed), _number(c, 32, signed))
        if not d_part:
            return value
        field = (1 << width) - 1
        return c & ~(field << at) | (value & field) << at

    return compute


def _multiply_add(
    negated: str, types: tuple[str, str, str], saturates: str, scale: str, a_part: str, b_part: str
) -> Meaning:
    """`vmad`. `negated` is the operand with a minus sign: `product`, `c`; or `po`, which adds
    one."""
    of_a, of_b = _part(a_part, types[1]), _part(b_part, types[2])

    def compute(a: int, b: int, c: int) -> int:
        product = of_a(a) * of_b(b)
        signed = "s32" in types[1:] or negated in ("product", "c")
        value = -product if negated == "product" else product
        if negated == "c":
            value += _number(~c, 32, signed) + 1
        else:
            value += _number(c, 32, signed) + (negated == "po")
        value >>= int(scale[3:] or 0)
        return _clamped(value, 32, signed) if saturates else value

    return compute


def _several(
    name: str, mode: str, types: tuple[str, str, str], how: str, mask: str, a_parts: str,
    b_parts: str,
) -> Meaning:  # fmt: skip
    """`vadd2`, `vset4` and similar; parts as `h32` or `b7654`: the highest field comes first."""
    count = int(name[-1])
    width, base = 32 // count, name[:-1]
    signed = types[0] == "s32"

    def chosen(parts: str, first: int) -> list[int]:
        return [int(d) for d in reversed(parts[1:])] or list(range(first, first + count))

    of_a, of_b = (
        [_taken(width * part, width, type_ == "s32") for part in chosen(parts, first)]
        for parts, first, type_ in ((a_parts, 0, types[1]), (b_parts, count, types[2]))
    )
    fields = list(zip(of_a, of_b, strict=True))

    def compute(a: int, b: int, c: int) -> int:
        pool = b << 32 | a
        out = c if how == "add" else 0
        for i, (x, y) in enumerate(fields):
            value = _first(base, mode, x(pool), y(pool))
            if how == "sat":
                value = _clamped(value, width, signed)
            in_mask = not mask or str(i) in mask
            if how == "add":
                out += value if in_mask else 0
            else:
                out |= ((value if in_mask else c >> width * i) & (1 << width) - 1) << width * i
        return out

    return compute
