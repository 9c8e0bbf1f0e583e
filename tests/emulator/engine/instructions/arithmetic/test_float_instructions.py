"""Floating-point instructions, bit for bit where the PTX ISA specifies the bits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from emulator_tools import elementwise

F32 = np.float32
EDGES = np.array(
    [0.0, -0.0, 1.0, -1.0, 1.5, 3.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38,
     3.4028235e38, -3.4028235e38, 0.1, 1e-20, 1e20],
    np.float32,
)  # fmt: skip


def _pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def _same(found: np.ndarray, expected: np.ndarray) -> None:
    """Assert that the bits are equal; any two NaNs count as equal."""
    kind = f"u{found.dtype.itemsize}"
    same = (found.view(kind) == expected.view(kind)) | (np.isnan(found) & np.isnan(expected))
    at = np.flatnonzero(~same)[:5]
    assert not len(at), f"at {at}: {found[at]} for {expected[at]}"


def _to_f32(exact: Fraction) -> np.float32:
    """Round a rational to the nearest float, ties to even, by comparing exact neighbours."""
    if exact == 0:
        return F32(0)
    guess = F32(exact.numerator / exact.denominator)
    with np.errstate(all="ignore"):
        near = [np.nextafter(guess, F32(-np.inf)), guess, np.nextafter(guess, F32(np.inf))]
    near = [n for n in near if np.isfinite(n)]
    return min(near, key=lambda n: (abs(Fraction(float(n)) - exact), int(n.view(np.uint32)) & 1))


@pytest.mark.parametrize(
    ("opcode", "function"), [("add", np.add), ("sub", np.subtract), ("mul", np.multiply)]
)
def test_add_subtract_and_multiply_round_once(opcode: str, function: np.ufunc) -> None:
    a, b = _pairs(EDGES)
    with np.errstate(all="ignore"):
        expected = function(a, b)
    for suffix in ("", ".rn"):
        found = elementwise(
            f"{opcode}{suffix}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32
        )
        _same(found, expected)
        wide = elementwise(
            f"{opcode}{suffix}.f64 $0, $1, $2;",
            [("f64", a.astype(float)), ("f64", b.astype(float))], "f64", np.float64,
        )  # fmt: skip
        with np.errstate(all="ignore"):
            _same(wide, function(a.astype(float), b.astype(float)))


def test_fused_multiply_add_of_floats_rounds_once() -> None:
    random = np.random.default_rng(3)
    raw = random.integers(0, 2**32, (3, 3000), dtype=np.uint64).astype(np.uint32)
    a, b, c = raw.view(F32)
    near = random.random((3, 3000), dtype=F32) + F32(0.5)  # results that nearly cancel
    a, b = np.concatenate([a, near[0]]), np.concatenate([b, near[1]])
    c = np.concatenate([c, -(near[0] * near[1])])
    # Half-way cases in which rounding to double first would give a wrong result.
    a = np.append(a, F32([1 + 2**-23, 2**-24 + 1, 1.0000001]))
    b = np.append(b, F32([1 + 2**-23, 1 + 2**-23, 2**-1]))
    c = np.append(c, F32([2.0**-60, -(2.0**-70), 1e-30]))
    found = elementwise(
        "fma.rn.f32 $0, $1, $2, $3;", [("f32", a), ("f32", b), ("f32", c)], "f32", F32
    )
    for i in range(len(a)):
        if not (np.isfinite(a[i]) and np.isfinite(b[i]) and np.isfinite(c[i])):
            continue
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        if abs(exact) > Fraction(float(np.finfo(F32).max)):
            continue
        assert found[i] == _to_f32(exact), (a[i], b[i], c[i], found[i])


def test_double_rounding_would_change_this_fused_multiply_add() -> None:
    # 1 + 2^-24 exactly, a tie, plus a number far below the last bit of a double.
    a, b, c = F32([2.0**-24]), F32([1 + 2.0**-23]), F32([1.0])
    for sign in (1, -1):
        tiny = F32([sign * 2.0**-80])
        one = elementwise("fma.rn.f32 $0, $1, $2, $3;", [("f32", a), ("f32", b), ("f32", c)],
                          "f32", F32)  # fmt: skip
        assert one[0] == F32(1 + 2.0**-23)
        half = elementwise(
            "fma.rn.f32 $0, $1, $2, $3;",
            [("f32", F32([1 + 2.0**-12])), ("f32", F32([1 + 2.0**-12])), ("f32", tiny)], "f32", F32,
        )  # fmt: skip
        exact = Fraction(1 + 2.0**-12) ** 2 + Fraction(float(tiny[0]))
        assert half[0] == _to_f32(exact)
        assert half[0] == F32(1 + 2.0**-11 + (2.0**-23 if sign > 0 else 0))


def test_fused_multiply_add_of_doubles_rounds_once() -> None:
    random = np.random.default_rng(4)
    a, b = random.standard_normal((2, 1500))
    c = np.where(np.arange(1500) % 2 == 0, -(a * b), random.standard_normal(1500))
    a = np.concatenate([a, [1e200, 1e-200, 1e-300, 1e308, 0.0]])
    b = np.concatenate([b, [1e100, 1e-110, 1e-20, 10.0, 5.0]])
    c = np.concatenate([c, [-1e300, 1e-310, 5e-324, -1e308, -0.0]])
    found = elementwise(
        "fma.rn.f64 $0, $1, $2, $3;", [("f64", a), ("f64", b), ("f64", c)], "f64", np.float64
    )
    huge = np.float64([1e300])
    far = elementwise("fma.rn.f64 $0, $1, $2, $3;",
                      [("f64", huge), ("f64", huge), ("f64", np.float64([-np.inf]))], "f64",
                      np.float64)  # fmt: skip
    assert far[0] == -np.inf  # the product is finite, however large
    for i in range(len(a)):
        exact = Fraction(a[i]) * Fraction(b[i]) + Fraction(c[i])
        try:
            expected = exact.numerator / exact.denominator
        except OverflowError:
            expected = math.inf if exact > 0 else -math.inf
        assert found[i] == expected, (a[i], b[i], c[i])


def test_minimum_and_maximum_prefer_numbers_to_nan_and_order_zeros() -> None:
    a, b = _pairs(F32([0.0, -0.0, 1.0, -1.0, np.nan, np.inf]))
    for opcode, pick in (("min", min), ("max", max)):
        found = elementwise(f"{opcode}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32)
        propagating = elementwise(
            f"{opcode}.NaN.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32
        )
        for x, y, got, strict in zip(a, b, found, propagating, strict=True):
            numbers = [v for v in (x, y) if not np.isnan(v)]
            if not numbers:
                assert np.isnan(got)
                continue
            key = [(float(v), not np.signbit(v)) for v in numbers]
            value, positive = pick(key)
            assert got == value
            assert bool(np.signbit(got)) == (value < 0 or (value == 0 and not positive))
            assert np.isnan(strict) == (len(numbers) < 2)


def test_an_approximate_quotient_by_more_than_2_to_126_is_zero_or_nan() -> None:
    """PTX ISA, `div.approx`: "if a is infinity, delivers NaN, otherwise 0"; for other divisors, the
    result is that of `div.rn`."""
    a, b = _pairs(np.append(EDGES, F32([1e38, -2e38, 2.0**126])))
    with np.errstate(all="ignore"):
        expected = a / b
    large = (np.abs(b) > 2.0**126) & np.isfinite(b)
    is_negative = np.signbit(a) != np.signbit(b)
    zero = np.where(is_negative, F32(-0.0), F32(0.0))
    expected = np.where(large, np.where(np.isfinite(a), zero, F32(np.nan)), expected).astype(F32)
    found = elementwise("div.approx.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32)
    _same(found, expected)
    assert np.count_nonzero(large) > 20


def test_division_and_roots_round_correctly() -> None:
    a, b = _pairs(EDGES)
    with np.errstate(all="ignore"):
        quotient, root = a / b, np.sqrt(a)
        reciprocal = F32(1) / a
    for mode in ("rn", "full"):
        found = elementwise(f"div.{mode}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32)
        _same(found, quotient)
    _same(elementwise("sqrt.rn.f32 $0, $1;", [("f32", a)], "f32", F32), root)
    _same(elementwise("rcp.rn.f32 $0, $1;", [("f32", a)], "f32", F32), reciprocal)


@pytest.mark.parametrize(
    ("opcode", "function", "low", "high"),
    [("ex2", np.exp2, -20, 20), ("lg2", np.log2, 1e-3, 1e6), ("sin", np.sin, -3, 3),
     ("cos", np.cos, -3, 3), ("rsqrt", lambda x: 1 / np.sqrt(x), 1e-3, 1e6),
     ("tanh", np.tanh, -5, 5)],
)  # fmt: skip
def test_approximate_functions_are_the_true_ones_rounded(opcode, function, low, high) -> None:
    x = np.linspace(low, high, 500).astype(F32)
    found = elementwise(f"{opcode}.approx.f32 $0, $1;", [("f32", x)], "f32", F32)
    np.testing.assert_allclose(found, function(x.astype(float)), rtol=1e-7, atol=1e-30)


def test_ftz_flushes_operands_and_results_and_keeps_the_sign() -> None:
    tiny = F32([1e-40, -1e-40, 1.1754944e-38, -1.1754944e-38])
    half = F32([1.0, 1.0, 0.5, 0.5])
    found = elementwise("mul.ftz.f32 $0, $1, $2;", [("f32", tiny), ("f32", half)], "f32", F32)
    _same(found, F32([0.0, -0.0, 0.0, -0.0]))
    kept = elementwise("mul.f32 $0, $1, $2;", [("f32", tiny), ("f32", half)], "f32", F32)
    assert (kept != 0).all()
    compared = elementwise(
        "setp.gt.ftz.f32 $0, $1, $2;", [("f32", tiny[:1]), ("f32", F32([0]))], "pred", np.uint32
    )
    assert compared[0] == 0


def test_saturation_clamps_to_zero_and_one_and_drops_nan() -> None:
    a = F32([-1.0, 0.25, 2.0, np.nan, np.inf])
    found = elementwise("add.sat.f32 $0, $1, $2;", [("f32", a), ("f32", F32([0]))], "f32", F32)
    assert found.tolist() == [0.0, 0.25, 1.0, 0.0, 1.0]
    whole = np.int32([-7, 0, 1, 2**31 - 1])
    found = elementwise("cvt.rn.sat.f32.s32 $0, $1;", [("b32", whole)], "f32", F32)
    assert found.tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("comparison", "numbers", "with_nan"),
    [("eq", lambda x, y: x == y, False), ("ne", lambda x, y: x != y, False),
     ("lt", lambda x, y: x < y, False), ("le", lambda x, y: x <= y, False),
     ("gt", lambda x, y: x > y, False), ("ge", lambda x, y: x >= y, False),
     ("equ", lambda x, y: x == y, True), ("neu", lambda x, y: x != y, True),
     ("ltu", lambda x, y: x < y, True), ("leu", lambda x, y: x <= y, True),
     ("gtu", lambda x, y: x > y, True), ("geu", lambda x, y: x >= y, True),
     ("num", lambda x, y: True, False), ("nan", lambda x, y: False, True)],
)  # fmt: skip
def test_float_comparisons_are_ordered_or_unordered(comparison, numbers, with_nan) -> None:
    a, b = _pairs(F32([0.0, -0.0, 1.0, 2.0, np.inf, np.nan]))
    found = elementwise(f"setp.{comparison}.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "pred",
                        np.uint32)  # fmt: skip
    for x, y, got in zip(a, b, found, strict=True):
        either = np.isnan(x) or np.isnan(y)
        assert bool(got) == (with_nan if either else bool(numbers(x, y))), (x, y)


INTEGERS = {
    "s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535),
    "s32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1),
    "s64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1),
}  # fmt: skip


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize(
    ("mode", "rounding"),
    [("rni", round), ("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil)],
)
def test_float_to_integer_rounds_saturates_and_takes_nan_as_the_manual_says(
    to, source, mode, rounding
) -> None:
    dtype = F32 if source == "f32" else np.float64
    values = np.array(
        [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 254.9, 1e3, -1e3, 40000.7, 2.0**31,
         -(2.0**31),
         2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, np.inf, -np.inf, np.nan, -0.0],
        dtype,
    )  # fmt: skip
    low, high = INTEGERS[to]
    width = max(int(to[1:]), 32)
    kind = {32: "b32", 64: "b64"}[width]
    out = np.dtype(f"{'i' if to[0] == 's' else 'u'}{width // 8}")
    found = elementwise(f"cvt.{mode}.{to}.{source} $0, $1;", [(source, values)], kind, out)
    for value, got in zip(values.tolist(), found.tolist(), strict=True):
        if math.isnan(value):
            top = low if low < 0 else 1 << int(to[1:]) - 1  # the highest bit alone
            expected = top if source == "f64" or to[1:] == "64" else 0
        elif math.isinf(value):
            expected = high if value > 0 else low
        else:
            expected = min(max(rounding(value), low), high)
        assert got == expected, (value, got, expected)


@pytest.mark.parametrize(("mode", "toward"), [("rz", 0), ("rm", -1), ("rp", 1), ("rn", None)])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
def test_integer_to_float_rounds_as_asked(mode: str, toward: int | None, source: str) -> None:
    low, high = INTEGERS[source]
    values = [0, 1, 16777217, 16777219, 2**31 - 1, low, high, high - 1, 33554433]
    raw = np.array([v & (2 ** int(source[1:]) - 1) for v in values], f"u{int(source[1:]) // 8}")
    kind = f"b{source[1:]}"
    found = elementwise(f"cvt.{mode}.f32.{source} $0, $1;", [(kind, raw)], "f32", F32)
    for value, got in zip(values, found, strict=True):
        nearest = _to_f32(Fraction(value))
        error = Fraction(float(nearest)) - value
        expected = nearest
        down = toward == -1 or (toward == 0 and value > 0)
        up = toward == 1 or (toward == 0 and value < 0)
        if down and error > 0:
            expected = np.nextafter(nearest, F32(-np.inf))
        if up and error < 0:
            expected = np.nextafter(nearest, F32(np.inf))
        assert got == expected, (value, got, expected)


def test_double_to_float_and_half_conversions() -> None:
    values = np.array([1.0, 1 + 2.0**-24, 1 + 2.0**-30, -(1 + 2.0**-30), 1e300, 1e-46, np.nan])
    with np.errstate(all="ignore"):
        nearest = values.astype(F32)
    _same(elementwise("cvt.rn.f32.f64 $0, $1;", [("f64", values)], "f32", F32), nearest)
    down = elementwise("cvt.rm.f32.f64 $0, $1;", [("f64", values[2:4])], "f32", F32)
    assert down.tolist() == [1.0, float(np.nextafter(F32(-1), F32(-2)))]
    up = elementwise("cvt.rp.f32.f64 $0, $1;", [("f64", values[2:4])], "f32", F32)
    assert up.tolist() == [float(np.nextafter(F32(1), F32(2))), -1.0]
    half = elementwise("cvt.rn.f16.f32 $0, $1;", [("f32", F32([1.0, 0.1, 65519.0]))], "b16",
                       np.uint16)  # fmt: skip
    assert half.view(np.float16).tolist() == [1.0, np.float16(0.1), 65504.0]
    back = elementwise("cvt.f32.f16 $0, $1;", [("b16", half)], "f32", F32)
    assert back.tolist() == half.view(np.float16).astype(F32).tolist()
    integral = elementwise("cvt.rni.f32.f32 $0, $1;", [("f32", F32([2.5, -0.4]))], "f32", F32)
    _same(integral, F32([2.0, -0.0]))


def test_negation_absolute_value_and_copysign_keep_to_the_sign_bit() -> None:
    _same(elementwise("neg.f32 $0, $1;", [("f32", EDGES)], "f32", F32), -EDGES)
    _same(elementwise("abs.f32 $0, $1;", [("f32", EDGES)], "f32", F32), np.abs(EDGES))
    a, b = _pairs(F32([1.0, -2.0, 0.0, -0.0]))
    found = elementwise("copysign.f32 $0, $1, $2;", [("f32", a), ("f32", b)], "f32", F32)
    _same(found, np.copysign(b, a))
