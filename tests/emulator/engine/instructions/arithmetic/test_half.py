"""f16 and bf16 arithmetic, single and in pairs: every bit, compared with rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import exact
import numpy as np
import pytest
from emulator_tools import CompilePtx, elementwise, run

FORMATS = {"f16": exact.F16, "bf16": exact.BF16}
ALL = np.arange(65536, dtype=np.uint32).astype(np.uint16)
SAMPLE = ALL[::13]
NAN = 0x7FFF


def _operands(kind: str, count: int, number: int, seed: int) -> list[np.ndarray]:
    """Random patterns, pairs of close numbers, and all pairs of edge values."""
    random = np.random.default_rng(seed)
    edges = {"f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00,
                     0xFC00, 0x7E00, 0x3C01],
             "bf16": [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80,
                      0xFF80, 0x7FC0, 0x3F81]}[kind]  # fmt: skip
    grid = np.array(np.meshgrid(*[edges] * number)).reshape(number, -1)
    drawn = random.integers(0, 65536, (number, count))
    one = 0x3C00 if kind == "f16" else 0x3F80
    near = random.integers(one - 40, one + 40, (number, count)) ^ (
        random.integers(0, 2, (number, count)) << 15
    )
    return list(np.concatenate([grid, drawn, near], axis=1).astype(np.uint16))


def _expected(
    kind: str, function: Callable[..., Fraction], raw: tuple[int, ...], *, sat: bool = False,
    relu: bool = False,
) -> int | None:  # fmt: skip
    """The bits of the exact result; None if an operand is not finite (tested elsewhere)."""
    values = [exact.decode(int(r), FORMATS[kind]) for r in raw]
    if any(isinstance(v, float) and v != 0 for v in values):
        return None
    value = function(*(Fraction(v) for v in values))
    if value == 0:
        return None
    if sat:
        value = min(max(value, Fraction(0)), Fraction(1))
    if relu:
        value = max(value, Fraction(0))
    return exact.encode(value, FORMATS[kind])


SUMS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "fma.rn": lambda a, b, c: a * b + c,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", SUMS)
def test_sums_and_products_of_halves_round_once(kind: str, opcode: str) -> None:
    number = 3 if opcode.startswith("fma") else 2
    operands = _operands(kind, 700, number, 5)
    places = ", ".join(f"${i + 1}" for i in range(number))
    one = elementwise(f"{opcode}.{kind} $0, {places};", [("b16", o) for o in operands], "b16",
                      np.uint16)  # fmt: skip
    for *raw, found in zip(*operands, one, strict=True):
        wanted = _expected(kind, SUMS[opcode], tuple(raw))
        assert wanted is None or wanted == found, (opcode, kind, [hex(r) for r in raw], hex(found))
    # Packed: each half gives the same result as alone, whatever the other half holds.
    packed = [o.astype(np.uint32) | np.roll(o, 1).astype(np.uint32) << 16 for o in operands]
    two = elementwise(f"{opcode}.{kind}x2 $0, {places};", [("b32", p) for p in packed], "b32",
                      np.uint32)  # fmt: skip
    assert (two & 0xFFFF).tolist() == one.tolist()
    assert (two >> 16).tolist() == np.roll(one, 1).tolist()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_halves_that_are_no_numbers_and_zeros(kind: str) -> None:
    inf, one = (0x7C00, 0x3C00) if kind == "f16" else (0x7F80, 0x3F80)
    cases = [
        ("add", inf, inf | 0x8000, NAN), ("add", inf, one, inf), ("mul", inf, 0, NAN),
        ("add", inf + 1, one, NAN), ("sub", inf, inf, NAN), ("add", 0x8000, 0x8000, 0x8000),
        ("add", 0x8000, 0, 0), ("mul", 0x8000, one, 0x8000), ("sub", one, one, 0),
    ]  # fmt: skip
    for opcode, a, b, wanted in cases:
        found = elementwise(f"{opcode}.{kind} $0, $1, $2;", [("b16", np.uint16([a])),
                            ("b16", np.uint16([b]))], "b16", np.uint16)  # fmt: skip
        assert found[0] == wanted, (opcode, hex(a), hex(b), hex(found[0]))


def test_saturation_and_relu_of_halves() -> None:
    operands = _operands("f16", 400, 2, 8)
    found = elementwise("add.sat.f16 $0, $1, $2;", [("b16", o) for o in operands], "b16", np.uint16)
    for a, b, got in zip(*operands, found, strict=True):
        wanted = _expected("f16", SUMS["add"], (a, b), sat=True)
        assert wanted is None or wanted == got
    for kind in ("f16", "bf16"):
        operands = _operands(kind, 300, 3, 9)
        found = elementwise(
            f"fma.rn.relu.{kind} $0, $1, $2, $3;", [("b16", o) for o in operands], "b16", np.uint16
        )
        for *raw, got in zip(*operands, found, strict=True):
            wanted = _expected(kind, SUMS["fma.rn"], tuple(raw), relu=True)
            assert wanted is None or wanted == got


def test_ftz_of_halves_flushes_operands_and_results() -> None:
    a, b = np.uint16([0x03FF, 0x8001, 0x0400]), np.uint16([0x3C00, 0x3C00, 0x3800])
    found = elementwise("mul.ftz.f16 $0, $1, $2;", [("b16", a), ("b16", b)], "b16", np.uint16)
    assert found.tolist() == [0, 0x8000, 0]
    kept = elementwise("mul.f16 $0, $1, $2;", [("b16", a), ("b16", b)], "b16", np.uint16)
    assert kept.tolist() == [0x03FF, 0x8001, 0x0200]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_negation_and_magnitude_change_only_the_sign_bit(kind: str) -> None:
    assert (elementwise(f"neg.{kind} $0, $1;", [("b16", ALL)], "b16", np.uint16)
            == ALL ^ 0x8000).all()  # fmt: skip
    assert (elementwise(f"abs.{kind} $0, $1;", [("b16", ALL)], "b16", np.uint16)
            == ALL & 0x7FFF).all()  # fmt: skip
    both = ALL.astype(np.uint32) * 0x10001
    found = elementwise(f"neg.{kind}x2 $0, $1;", [("b32", both)], "b32", np.uint32)
    assert (found == both ^ 0x80008000).all()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_the_smaller_and_the_larger_half(kind: str, opcode: str) -> None:
    a, b = _operands(kind, 500, 2, 11)
    sources = [("b16", a), ("b16", b)]
    found = elementwise(f"{opcode}.{kind} $0, $1, $2;", sources, "b16", np.uint16)
    strict = elementwise(f"{opcode}.NaN.{kind} $0, $1, $2;", sources, "b16", np.uint16)
    signed = elementwise(f"{opcode}.xorsign.abs.{kind} $0, $1, $2;", sources, "b16", np.uint16)
    pick = min if opcode == "min" else max
    for x, y, got, got_strict, got_signed in zip(a, b, found, strict, signed, strict=True):
        values = [(exact.decode(int(r), FORMATS[kind]), int(r)) for r in (x, y)]
        numbers = [(v, not r >> 15, r) for v, r in values if not math.isnan(v)]
        assert got == (pick(numbers)[2] if numbers else NAN)
        assert got_strict == (pick(numbers)[2] if len(numbers) == 2 else NAN)
        if numbers:
            magnitude = pick(r & 0x7FFF for _, _, r in numbers)
            assert got_signed == magnitude | ((int(x) ^ int(y)) & 0x8000)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("comparison", ["eq", "ne", "lt", "ge", "ltu", "neu", "nan"])
def test_halves_compare_ordered_or_unordered(kind: str, comparison: str) -> None:
    a, b = _operands(kind, 300, 2, 12)
    single = elementwise(f"setp.{comparison}.{kind} $0, $1, $2;", [("b16", a), ("b16", b)], "pred",
                         np.uint32)  # fmt: skip
    packed = [o.astype(np.uint32) | np.roll(o, 1).astype(np.uint32) << 16 for o in (a, b)]
    both = elementwise(
        f"setp.{comparison}.{kind}x2 %p1|%p2, $1, $2; and.pred $0, %p1, %p2;",
        [("b32", p) for p in packed], "pred", np.uint32,
    )  # fmt: skip
    masks = elementwise(f"set.{comparison}.u32.{kind}x2 $0, $1, $2;", [("b32", p) for p in packed],
                        "b32", np.uint32)  # fmt: skip
    ones = elementwise(f"set.{comparison}.{kind}x2.{kind}x2 $0, $1, $2;",
                       [("b32", p) for p in packed], "b32", np.uint32)  # fmt: skip
    table = {
        "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y,
        "ge": lambda x, y: x >= y, "ltu": lambda x, y: x < y, "neu": lambda x, y: x != y,
        "nan": lambda x, y: False,
    }  # fmt: skip
    one = 0x3C00 if kind == "f16" else 0x3F80
    wanted = []
    for x, y in zip(a, b, strict=True):
        p, q = (exact.decode(int(r), FORMATS[kind]) for r in (x, y))
        unordered = math.isnan(p) or math.isnan(q)
        wanted.append(
            comparison.endswith("u") or comparison == "nan" if unordered
            else bool(table[comparison](p, q))
        )  # fmt: skip
    holds = np.array(wanted)
    assert (single == holds).all()
    assert (both == (holds & np.roll(holds, 1))).all()
    assert (masks == holds * 0xFFFF + np.roll(holds, 1) * 0xFFFF0000).all()
    assert (ones == holds * one + np.roll(holds, 1) * (one << 16)).all()


@pytest.mark.parametrize(("opcode", "function"), [("ex2", lambda x: 2.0**x), ("tanh", math.tanh)])
def test_approximate_functions_of_every_half_are_the_true_ones_rounded(opcode, function) -> None:
    for kind, form in FORMATS.items():
        ftz = ".ftz" if (opcode, kind) == ("ex2", "bf16") else ""
        found = elementwise(f"{opcode}.approx{ftz}.{kind} $0, $1;", [("b16", SAMPLE)], "b16",
                            np.uint16)  # fmt: skip
        for raw, got in zip(SAMPLE, found, strict=True):
            value = exact.decode(int(raw), form)
            if math.isnan(value) or math.isinf(value) or abs(value) > 900:
                continue
            wanted = exact.encode(Fraction(function(float(value))), form)
            assert abs(int(got) - wanted) <= 1 or (ftz and got == 0), (opcode, hex(raw), hex(got))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_floats_become_halves_in_every_rounding(kind: str, mode: str) -> None:
    random = np.random.default_rng(2)
    form = FORMATS[kind]
    ties = (ALL[::37].astype(np.uint32) << 16) + np.uint32(0x8000)  # half-way for bf16
    halves = np.float32([float(exact.decode(int(r), form)) for r in ALL[:0x7C00:97]])
    above = np.nextafter(halves, np.float32(9))
    near = np.concatenate([halves, above, halves * np.float32(1.0004)])
    values = np.concatenate([
        ties.view(np.float32), (ties + 1).view(np.float32), near, -near,
        random.integers(0, 2**32, 1500, dtype=np.uint64).astype(np.uint32).view(np.float32),
        np.float32([65504, 65519.99, 65520, 3.4e38, 1e-45, 2.0**-25, 1.5 * 2.0**-25, -1e-30]),
    ])  # fmt: skip
    values = values[np.isfinite(values)]
    found = elementwise(f"cvt.{mode}.{kind}.f32 $0, $1;", [("f32", values)], "b16", np.uint16)
    upper = np.roll(values, 1)
    for value, got in zip(values, found, strict=True):
        sign = -1 if np.signbit(value) else 1
        assert got == exact.encode(Fraction(float(value)), form, mode, sign), value
    if mode in ("rn", "rz"):
        pairs = elementwise(f"cvt.{mode}.{kind}x2.f32 $0, $1, $2;",
                            [("f32", upper), ("f32", values)], "b32", np.uint32)  # fmt: skip
        assert (pairs == found.astype(np.uint32) | np.roll(found, 1).astype(np.uint32) << 16).all()
        relu = elementwise(f"cvt.{mode}.relu.{kind}.f32 $0, $1;", [("f32", values)], "b16",
                           np.uint16)  # fmt: skip
        assert (relu == np.where(values > 0, found, 0)).all()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_every_half_becomes_a_float_and_an_integer(kind: str) -> None:
    numbers = [exact.decode(int(r), FORMATS[kind]) for r in SAMPLE]
    found = elementwise(f"cvt.f32.{kind} $0, $1;", [("b16", SAMPLE)], "f32", np.float32)
    whole = elementwise(f"cvt.rni.s32.{kind} $0, $1;", [("b16", SAMPLE)], "b32", np.int32)
    for value, got, integer in zip(numbers, found, whole, strict=True):
        if math.isnan(value):
            assert np.isnan(got)
            assert integer == 0
            continue
        assert float(got) == float(value)
        if math.isinf(value):
            continue
        assert integer == min(max(round(value), -(2**31)), 2**31 - 1)


def test_integers_become_bf16_rounded_once() -> None:
    random = np.random.default_rng(4)
    values = random.integers(-(2**63), 2**63, 2000) >> random.integers(0, 62, 2000)
    # Above a tie by less than a double can represent.
    values = np.append(values, [(0x181 << 50) + 1, (0x181 << 50), -(0x181 << 50) - 1])
    found = elementwise("cvt.rn.bf16.s64 $0, $1;", [("b64", values)], "b16", np.uint16)
    for value, got in zip(values.tolist(), found, strict=True):
        assert got == exact.encode(Fraction(value), exact.BF16), value


def test_tf32_keeps_ten_bits_of_fraction() -> None:
    random = np.random.default_rng(6)
    raw = random.integers(0, 0x7F7FFFFF, 3000).astype(np.uint32)
    raw = np.concatenate([raw, (raw & 0xFFFFE000) | 0x1000])
    found = elementwise("cvt.rna.tf32.f32 $0, $1;", [("f32", raw.view(np.float32))], "b32",
                        np.uint32)  # fmt: skip
    assert (found == (raw.astype(np.uint64) + 0x1000 & 0xFFFFE000)).all()
    even = elementwise("cvt.rn.tf32.f32 $0, $1;", [("f32", raw.view(np.float32))], "b32", np.uint32)
    form = exact.Format(19, 11, -126, 127)
    for value, got in zip(raw, even, strict=True):
        number = exact.decode(int(value), exact.F32)
        assert int(got) == exact.encode(Fraction(number), form) << 13


SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void axpy(const __half2* x, __half2* y, __half2 a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}
extern "C" __global__ void soft(const __nv_bfloat16* x, __nv_bfloat16* y, __half* z) {
    int i = threadIdx.x;
    __nv_bfloat162 both = __halves2bfloat162(x[i], x[i ^ 1]);
    y[i] = __hmax(__low2bfloat16(both), __high2bfloat16(both)) * __float2bfloat16(0.5f);
    z[i] = hexp(__float2half(__bfloat162float(x[i]))) / __int2half_rn(3);
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_kernels_in_half_precision(compile_ptx: CompilePtx, arch: str) -> None:
    random = np.random.default_rng(1)
    x, y = random.standard_normal((2, 1000)).astype(np.float16)
    a = np.float16([1.5, -0.25])
    exactly = np.tile(a.astype(float), 500) * x.astype(float) + y.astype(float)
    expected = exactly.astype(np.float16)
    found = y.copy()
    run(compile_ptx(SOURCE, arch), "axpy", 4, 128, [x, found, a.tobytes(), 500])
    assert (found == expected).all()

    floats = random.standard_normal(64).astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    values = floats.view(np.float32)
    larger = np.zeros(64, np.uint16)
    z = np.zeros(64, np.float16)
    run(compile_ptx(SOURCE, arch), "soft", 1, 64,
        [(floats >> 16).astype(np.uint16), larger, z])  # fmt: skip
    wanted = np.maximum(values, values[np.arange(64) ^ 1]) * np.float32(0.5)
    assert ((larger.astype(np.uint32) << 16).view(np.float32) == wanted).all()
    np.testing.assert_allclose(z.astype(float), np.exp(values.astype(float)) / 3, rtol=3e-3)
