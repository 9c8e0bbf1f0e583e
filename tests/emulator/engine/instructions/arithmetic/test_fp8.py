"""8-bit floats, compared with exact rational arithmetic, one number at a time."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from emulator_tools import CompilePtx, elementwise, ptx_kernel, run
from exact import F16, F32, decode

from harness.emulator import UnknownInstruction, launch, parse

RANDOM = np.random.default_rng(8)
# Format → the number of fraction bits, the lowest exponent of normal numbers, the largest bit
# pattern.
FORMATS = {"e4m3x2": (3, -6, 0x7E), "e5m2x2": (2, -14, 0x7B)}


@functools.cache
def _number(raw: int, format_: str) -> Fraction:
    digits, lowest, _ = FORMATS[format_]
    exponent, fraction = raw >> digits, raw & ((1 << digits) - 1)
    if exponent:
        fraction += 1 << digits
    return fraction * Fraction(2) ** (max(exponent, 1) - 1 + lowest - digits)


def _nearest(value: Fraction | float, format_: str, negative: bool) -> int:
    """The pattern nearest to a number, with ties to even; the largest pattern for all numbers
    beyond it."""
    largest = FORMATS[format_][2]
    sign = 0x80 if negative else 0
    if isinstance(value, float):
        return 0x7F if math.isnan(value) else sign | (largest if value else 0)
    size = abs(value)
    best = min(range(largest + 1), key=lambda raw: (abs(_number(raw, format_) - size), raw & 1))
    return sign | best


def _floats() -> np.ndarray:
    some = RANDOM.normal(size=300) * 2.0 ** RANDOM.integers(-20, 18, 300)
    halfway = [_number(raw, f) for f in FORMATS for raw in range(0x78)]
    halfway = [float(a + b) / 2 for a, b in itertools.pairwise(halfway)]
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, 448, 464, 465, -1e9, 57344, 61440, 1e-45]
    return np.array([*some, *halfway, *edges], np.float32)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_floats_are_rounded_to_the_nearest_and_clamped(format_: str, relu: str) -> None:
    high = _floats()
    low = RANDOM.permutation(high)
    found = elementwise(f"cvt.rn.satfinite{relu}.{format_}.f32 $0, $1, $2;",
                        [("f32", high), ("f32", low)], "b16", np.uint16)  # fmt: skip
    for *values, pair in zip(high, low, found.tolist(), strict=True):
        for value, got in zip(values, (pair >> 8, pair & 0xFF), strict=True):
            negative = bool(np.signbit(value))
            exact = decode(int(value.view(np.uint32)), F32)
            wanted = _nearest(exact, format_, negative)
            if relu and negative and not np.isnan(value):
                wanted = 0
            assert got == wanted, (value, hex(got))


@pytest.mark.parametrize("format_", FORMATS)
def test_pairs_of_halves_are_rounded_like_floats(format_: str) -> None:
    pairs = RANDOM.integers(0, 1 << 32, 500, dtype=np.uint64).astype(np.uint32)
    found = elementwise(f"cvt.rn.satfinite.{format_}.f16x2 $0, $1;", [("b32", pairs)], "b16",
                        np.uint16)  # fmt: skip
    for pair, got in zip(pairs.tolist(), found.tolist(), strict=True):
        for shift, byte in ((0, got & 0xFF), (16, got >> 8)):
            half = pair >> shift & 0xFFFF
            assert byte == _nearest(decode(half, F16), format_, bool(half >> 15)), hex(half)


@pytest.mark.parametrize("format_", FORMATS)
def test_every_8_bit_float_is_a_half(format_: str) -> None:
    patterns = np.arange(1 << 16, dtype=np.uint32)[::0x101].astype(np.uint16)
    found = elementwise(f"cvt.rn.f16x2.{format_} $0, $1;", [("b16", patterns)], "b32", np.uint32)
    largest = FORMATS[format_][2]
    for raw, got in zip(patterns.tolist(), found.tolist(), strict=True):
        byte, magnitude = raw & 0xFF, raw & 0x7F
        assert got >> 16 == got & 0xFFFF
        value = decode(got & 0xFFFF, F16)
        if magnitude <= largest:
            assert abs(value) == _number(magnitude, format_)
            assert got >> 15 & 1 == byte >> 7
        elif format_ == "e5m2x2" and magnitude == 0x7C:
            assert value == (-math.inf if byte >> 7 else math.inf)
        else:
            assert got & 0xFFFF == 0x7FFF


def test_the_types_of_cuda_fp8_go_there_and_back(compile_ptx: CompilePtx) -> None:
    source = """
    #include <cuda_fp8.h>
    extern "C" __global__ void k(const float4* x, float4* a, float4* b) {
        a[threadIdx.x] = float4(__nv_fp8x4_e4m3(x[threadIdx.x]));
        b[threadIdx.x] = float4(__nv_fp8x4_e5m2(x[threadIdx.x]));
    }"""
    x = RANDOM.uniform(0.1, 400, (32, 4)).astype(np.float32)
    e4m3, e5m2 = np.zeros_like(x), np.zeros_like(x)
    run(compile_ptx(source), "k", 1, 32, [x, e4m3, e5m2])
    assert np.abs(e4m3 / x - 1).max() <= 2.0**-4
    assert np.abs(e5m2 / x - 1).max() <= 2.0**-3


@pytest.mark.parametrize(
    "instruction",
    ["cvt.rn.e4m3x2.f32 %h1, %f1, %f2;", "cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
     "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1;", "cvt.rn.satfinite.f16x2.e4m3x2 %r1, %h1;",
     "cvt.rn.satfinite.e4m3x2.e5m2x2 %h1, %h2;", "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;"],
)  # fmt: skip
def test_other_conversions_of_8_bits_are_refused(instruction: str) -> None:
    with pytest.raises(UnknownInstruction, match="cvt"):
        launch(parse(ptx_kernel(instruction)), "k", 1, 1, [])
