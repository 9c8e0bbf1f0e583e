"""Integer and bit instructions, compared with Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from emulator_tools import elementwise

_RANDOM = np.random.default_rng(11)


def _values(width: int) -> np.ndarray:
    edges = [0, 1, 2, 3, 7, 31, 32, 33, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1,
             (1 << (width - 1)) + 1, 0x55555555, 0xAAAA]  # fmt: skip
    drawn = _RANDOM.integers(0, 1 << 63, 12, dtype=np.uint64).tolist()
    every = [v & ((1 << width) - 1) for v in edges + drawn]
    return np.array(every, f"u{width // 8}")


def _signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def _check(
    instruction: str, width: int, count: int, expected: Callable[..., int], result: int = 0,
    operands: list[np.ndarray] | None = None, kinds: list[int] | None = None,
) -> None:  # fmt: skip
    """Compare the results for all pairs (or triples) of interesting values; `result` is the width
    of the result."""
    values = operands or [_values(width)] * min(count, 2)
    grids = [g.ravel() for g in np.meshgrid(*values)]
    while len(grids) < count:
        grids.append(_RANDOM.permutation(grids[0]))
    widths = kinds or [width] * count
    sources = [(f"b{w}", g.astype(f"u{w // 8}")) for w, g in zip(widths, grids, strict=True)]
    out = result or width
    found = elementwise(instruction, sources, f"b{out}", np.dtype(f"u{out // 8}"))
    for i in range(len(found)):
        row = [int(g[i]) for _, g in sources]
        want = expected(*row) & ((1 << out) - 1)
        assert int(found[i]) == want, (instruction, [hex(v) for v in row], hex(found[i]), hex(want))


@pytest.mark.parametrize("width", [16, 32, 64])
def test_addition_subtraction_and_multiplication_wrap(width: int) -> None:
    for sign in "us":
        _check(f"add.{sign}{width} $0, $1, $2;", width, 2, lambda a, b: a + b)
        _check(f"sub.{sign}{width} $0, $1, $2;", width, 2, lambda a, b: a - b)
        _check(f"mul.lo.{sign}{width} $0, $1, $2;", width, 2, lambda a, b: a * b)
        _check(f"mad.lo.{sign}{width} $0, $1, $2, $3;", width, 3, lambda a, b, c: a * b + c)


@pytest.mark.parametrize("width", [16, 32, 64])
def test_the_high_half_of_a_product(width: int) -> None:
    _check(f"mul.hi.u{width} $0, $1, $2;", width, 2, lambda a, b: a * b >> width)
    _check(
        f"mul.hi.s{width} $0, $1, $2;", width, 2,
        lambda a, b: _signed(a, width) * _signed(b, width) >> width,
    )  # fmt: skip


@pytest.mark.parametrize("width", [16, 32])
def test_wide_products_keep_every_bit(width: int) -> None:
    _check(f"mul.wide.u{width} $0, $1, $2;", width, 2, lambda a, b: a * b, 2 * width)
    _check(
        f"mul.wide.s{width} $0, $1, $2;", width, 2,
        lambda a, b: _signed(a, width) * _signed(b, width), 2 * width,
    )  # fmt: skip
    _check(
        f"mad.wide.s{width} $0, $1, $2, $3;", width, 3,
        lambda a, b, c: _signed(a, width) * _signed(b, width) + c, 2 * width,
        kinds=[width, width, 2 * width],
    )  # fmt: skip


@pytest.mark.parametrize("width", [16, 32, 64])
def test_division_truncates_and_by_zero_sets_all_bits(width: int) -> None:
    def quotient(a: int, b: int) -> int:
        return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    def rest(a: int, b: int) -> int:
        return a if b == 0 else a - quotient(a, b) * b

    def signed(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
        return lambda a, b: function(_signed(a, width), _signed(b, width))

    _check(f"div.u{width} $0, $1, $2;", width, 2, quotient)
    _check(f"rem.u{width} $0, $1, $2;", width, 2, rest)
    _check(f"div.s{width} $0, $1, $2;", width, 2, signed(quotient))
    _check(f"rem.s{width} $0, $1, $2;", width, 2, signed(rest))


@pytest.mark.parametrize("width", [16, 32, 64])
def test_minimum_maximum_negation_and_absolute_value(width: int) -> None:
    _check(f"min.u{width} $0, $1, $2;", width, 2, min)
    _check(f"max.u{width} $0, $1, $2;", width, 2, max)
    _check(
        f"min.s{width} $0, $1, $2;", width, 2,
        lambda a, b: min(_signed(a, width), _signed(b, width)),
    )  # fmt: skip
    _check(
        f"max.s{width} $0, $1, $2;", width, 2,
        lambda a, b: max(_signed(a, width), _signed(b, width)),
    )  # fmt: skip
    _check(f"neg.s{width} $0, $1;", width, 1, lambda a: -a)
    _check(f"abs.s{width} $0, $1;", width, 1, lambda a: abs(_signed(a, width)))


@pytest.mark.parametrize("width", [16, 32, 64])
def test_logic(width: int) -> None:
    _check(f"and.b{width} $0, $1, $2;", width, 2, lambda a, b: a & b)
    _check(f"or.b{width} $0, $1, $2;", width, 2, lambda a, b: a | b)
    _check(f"xor.b{width} $0, $1, $2;", width, 2, lambda a, b: a ^ b)
    _check(f"not.b{width} $0, $1;", width, 1, lambda a: ~a)
    _check(f"cnot.b{width} $0, $1;", width, 1, lambda a: int(a == 0))


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts_by_the_width_or_more_clamp(width: int) -> None:
    amounts = np.array([0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 2**31, 2**32 - 1], np.uint32)
    operands = [_values(width), amounts]
    kinds = [width, 32]

    def left(a: int, n: int) -> int:
        return a << n if n < width else 0

    def right(a: int, n: int) -> int:
        return a >> min(n, width)

    _check(f"shl.b{width} $0, $1, $2;", width, 2, left, operands=operands, kinds=kinds)
    _check(f"shr.u{width} $0, $1, $2;", width, 2, right, operands=operands, kinds=kinds)
    _check(f"shr.b{width} $0, $1, $2;", width, 2, right, operands=operands, kinds=kinds)
    _check(
        f"shr.s{width} $0, $1, $2;", width, 2, lambda a, n: right(_signed(a, width), n),
        operands=operands, kinds=kinds,
    )  # fmt: skip


def test_funnel_shifts() -> None:
    def left(n: Callable[[int], int]) -> Callable[[int, int, int], int]:
        return lambda a, b, c: ((b << 32 | a) << n(c)) >> 32

    def right(n: Callable[[int], int]) -> Callable[[int, int, int], int]:
        return lambda a, b, c: (b << 32 | a) >> n(c)

    clamp, wrap = (lambda c: min(c, 32)), (lambda c: c & 31)
    _check("shf.l.clamp.b32 $0, $1, $2, $3;", 32, 3, left(clamp))
    _check("shf.l.wrap.b32 $0, $1, $2, $3;", 32, 3, left(wrap))
    _check("shf.r.clamp.b32 $0, $1, $2, $3;", 32, 3, right(clamp))
    _check("shf.r.wrap.b32 $0, $1, $2, $3;", 32, 3, right(wrap))


@pytest.mark.parametrize("width", [32, 64])
def test_bit_counting(width: int) -> None:
    _check(f"popc.b{width} $0, $1;", width, 1, lambda a: bin(a).count("1"), 32)
    _check(f"clz.b{width} $0, $1;", width, 1, lambda a: width - a.bit_length(), 32)
    _check(f"brev.b{width} $0, $1;", width, 1, lambda a: int(bin(a)[2:].zfill(width)[::-1], 2))

    def leading(a: int) -> int:
        return a.bit_length() - 1

    def leading_signed(a: int) -> int:
        value = _signed(a, width)
        return leading(~value if value < 0 else value)

    _check(f"bfind.u{width} $0, $1;", width, 1, leading, 32)
    _check(f"bfind.s{width} $0, $1;", width, 1, leading_signed, 32)
    _check(
        f"bfind.shiftamt.u{width} $0, $1;", width, 1,
        lambda a: -1 if a == 0 else width - 1 - leading(a), 32,
    )  # fmt: skip


@pytest.mark.parametrize("width", [32, 64])
def test_bit_fields(width: int) -> None:
    """The definition is the pseudocode for bfe and bfi in the PTX ISA manual."""
    fields = np.array([0, 1, 5, 8, 31, 32, 33, 63, 64, 70, 255, 256 + 3], np.uint32)
    msb = width - 1

    def extract(a: int, position: int, length: int, signed: bool) -> int:
        position, length = position & 0xFF, length & 0xFF
        has_sign = signed and length > 0
        sign = a >> min(position + length - 1, msb) & 1 if has_sign else 0
        out = 0
        for i in range(width):
            inside = i < length and position + i <= msb
            out |= (a >> (position + i) & 1 if inside else sign) << i
        return out

    def insert(a: int, b: int, position: int, length: int) -> int:
        position, length = position & 0xFF, length & 0xFF
        out = b
        for i in range(length):
            if position + i > msb:
                break
            out = out & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
        return out

    operands, kinds = [_values(width), fields, fields], [width, 32, 32]
    for sign in "us":
        _check(
            f"bfe.{sign}{width} $0, $1, $2, $3;", width, 3,
            lambda a, p, n, s=sign: extract(a, p, n, s == "s"), operands=operands, kinds=kinds,
        )  # fmt: skip
    _check(
        f"bfi.b{width} $0, $1, $2, $3, $4;", width, 4, insert,
        operands=[_values(width), _values(width), fields[::2], fields[1::2]],
        kinds=[width, width, 32, 32],
    )  # fmt: skip


def test_byte_permutation_picks_bytes_and_replicates_signs() -> None:
    def permute(a: int, b: int, selector: int) -> int:
        both, out = b << 32 | a, 0
        for i in range(4):
            nibble = selector >> 4 * i & 0xF
            byte = both >> 8 * (nibble & 7) & 0xFF
            if nibble & 8:
                byte = 0xFF if byte & 0x80 else 0
            out |= byte << 8 * i
        return out

    _check("prmt.b32 $0, $1, $2, $3;", 32, 3, permute)


@pytest.mark.parametrize("table", [0x00, 0xFF, 0x80, 0xFE, 0x96, 0xCA, 0x1B, 0xE8])
def test_lop3_follows_its_table(table: int) -> None:
    def expected(a: int, b: int, c: int) -> int:
        bits = ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1 for i in range(32))
        return sum((table >> index & 1) << i for i, index in enumerate(bits))

    _check(f"lop3.b32 $0, $1, $2, $3, {table};", 32, 3, expected)


def test_selection_by_predicate_and_by_sign() -> None:
    _check("{ .reg .pred %q; setp.lt.u32 %q, $1, $2; selp.b32 $0, $1, $2, %q; }", 32, 2, min)
    _check("slct.u32.s32 $0, $1, $2, $3;", 32, 3, lambda a, b, c: a if _signed(c, 32) >= 0 else b)


@pytest.mark.parametrize(
    ("comparison", "function"),
    [("eq", int.__eq__), ("ne", int.__ne__), ("lt", int.__lt__), ("le", int.__le__),
     ("gt", int.__gt__), ("ge", int.__ge__)],
)  # fmt: skip
def test_integer_comparisons_and_their_combination(comparison: str, function) -> None:
    a, b = (g.ravel() for g in np.meshgrid(_values(32), _values(32)))
    sources = [("b32", a), ("b32", b)]
    unsigned = elementwise(f"setp.{comparison}.u32 $0, $1, $2;", sources, "pred", np.uint32)
    signed = elementwise(f"setp.{comparison}.s32 $0, $1, $2;", sources, "pred", np.uint32)
    both = elementwise(
        f"{{ .reg .pred %q; setp.eq.u32 %q, $1, 7; setp.{comparison}.or.u32 $0, $1, $2, !%q; }}",
        sources, "pred", np.uint32,
    )  # fmt: skip
    as_word = elementwise(f"set.{comparison}.u32.u32 $0, $1, $2;", sources, "b32", np.uint32)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert bool(unsigned[i]) == function(x, y)
        assert bool(signed[i]) == function(_signed(x, 32), _signed(y, 32))
        assert bool(both[i]) == (function(x, y) or x != 7)
        assert as_word[i] == (0xFFFFFFFF if function(x, y) else 0)


def test_a_comparison_can_give_its_result_and_the_opposite() -> None:
    a = _values(32)
    found = elementwise(
        "{ .reg .pred %q; .reg .pred %s; setp.lt.u32 %q|%s, $1, 100; "
        "selp.b32 $0, 1, 0, %q; @%s add.u32 $0, $0, 2; }", [("b32", a)], "b32", np.uint32,
    )  # fmt: skip
    assert found.tolist() == [1 if v < 100 else 2 for v in a.tolist()]


def test_integer_conversions_truncate_extend_and_saturate() -> None:
    _check("cvt.u8.u32 $0, $1;", 32, 1, lambda a: a & 0xFF)
    _check("cvt.s8.s32 $0, $1;", 32, 1, lambda a: _signed(a & 0xFF, 8))
    _check("cvt.s64.s32 $0, $1;", 32, 1, lambda a: _signed(a, 32), 64)
    _check("cvt.u64.u32 $0, $1;", 32, 1, lambda a: a, 64)
    _check("cvt.u32.u64 $0, $1;", 64, 1, lambda a: a, 32)
    _check("cvt.s64.s16 $0, $1;", 16, 1, lambda a: _signed(a, 16), 64)
    _check("cvt.sat.s8.s32 $0, $1;", 32, 1, lambda a: min(max(_signed(a, 32), -128), 127))
    _check("cvt.sat.u8.s32 $0, $1;", 32, 1, lambda a: min(max(_signed(a, 32), 0), 255))
    _check("cvt.sat.u16.u32 $0, $1;", 32, 1, lambda a: min(a, 65535))


def test_words_are_packed_and_unpacked_lowest_first() -> None:
    _check("mov.b64 $0, {$1, $2};", 32, 2, lambda a, b: b << 32 | a, 64)
    _check("{ .reg .b32 %lo; mov.b64 {%lo, $0}, $1; }", 64, 1, lambda a: a >> 32, 32)
    _check(
        "{ .reg .b16 %x, %y; mov.b32 {%x, %y}, $1; mov.b32 $0, {%y, %x}; }", 32, 1,
        lambda a: a >> 16 | (a & 0xFFFF) << 16,
    )  # fmt: skip


def test_24_bit_products_and_sums_of_absolute_differences() -> None:
    _check("mul24.lo.u32 $0, $1, $2;", 32, 2, lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
    _check(
        "mad24.hi.s32 $0, $1, $2, $3;", 32, 3,
        lambda a, b, c: (_signed(a & 0xFFFFFF, 24) * _signed(b & 0xFFFFFF, 24) >> 16) + c,
    )  # fmt: skip
    _check("sad.u32 $0, $1, $2, $3;", 32, 3, lambda a, b, c: abs(a - b) + c)
    _check(
        "sad.s32 $0, $1, $2, $3;", 32, 3,
        lambda a, b, c: abs(_signed(a, 32) - _signed(b, 32)) + c,
    )  # fmt: skip
