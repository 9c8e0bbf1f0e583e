"""Atomics on vectors of floats and halves in machine code give the same results as PTX."""

from __future__ import annotations

import math

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel
from sass.conftest import ReadSource

from harness.emulator import UnknownInstruction, launch, parse
from harness.emulator.sass import launch_machine_code

SOURCE = r"""
#define WORDS(v) "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
#define FLOATS(v) "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
#define TWO(TYPE) asm volatile("red.global.add.noftz.v2." TYPE " [%0], {%1, %2};" \
    :: "l"(at++), "r"(given.x), "r"(given.y) : "memory")
#define FOUR(OPERATION, VALUES) asm volatile("red.global.add." OPERATION \
    " [%0], {%1, %2, %3, %4};" :: "l"(at++), VALUES : "memory")
#define OLD(OPERATION, KIND, VALUES) asm volatile("atom.global.add." OPERATION \
    " {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};" \
    : KIND(old.x), KIND(old.y), KIND(old.z), KIND(old.w) : "l"(at++), VALUES : "memory")

extern "C" __global__ void vectors(uint4* sums, const uint4* in, uint4* before) {
    const int i = threadIdx.x;
    uint4* at = sums + 8 * i;
    const uint4 given = in[i];
    const float4 reals = reinterpret_cast<const float4*>(in)[i];
    FOUR("noftz.v4.f16x2", WORDS(given));
    FOUR("noftz.v4.bf16x2", WORDS(given));
    FOUR("v4.f32", FLOATS(reals));
    TWO("f16x2");
    TWO("bf16x2");
    {
        uint4 old;
        OLD("noftz.v4.f16x2", "=r", WORDS(given));
        before[3 * i] = old;
        OLD("noftz.v4.bf16x2", "=r", WORDS(given));
        before[3 * i + 1] = old;
    }
    {
        float4 old;
        OLD("v4.f32", "=f", FLOATS(reals));
        reinterpret_cast<float4*>(before)[3 * i + 2] = old;
    }
}
"""
_LANES = 32
_FORMS = (
    "REDG.E.ADD.F16x8", "REDG.E.ADD.BF16x8", "REDG.E.ADD.F32x4", "REDG.E.ADD.F16x4",
    "REDG.E.ADD.BF16x4", "ATOMG.E.ADD.F16x8", "ATOMG.E.ADD.BF16x8", "ATOMG.E.ADD.F32x4",
)  # fmt: skip


def test_vectors_are_added_and_their_old_values_returned_as_in_ptx(
    compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    draw = np.random.default_rng(3)
    given, sums = (
        draw.normal(size=(_LANES, rows, 8)).astype(np.float16).view(np.uint32) for rows in (1, 8)
    )
    code = read_source(SOURCE)
    texts = " ".join(each.text for each in code.functions["vectors"].instructions)
    assert all(form in texts for form in _FORMS), texts
    found = []
    for start in (launch, launch_machine_code):
        module = compile_ptx(SOURCE) if start is launch else code
        changed, before = sums.copy(), np.zeros((_LANES, 3, 4), np.uint32)
        report = start(module, "vectors", 1, _LANES, [changed, given, before])
        assert report.faults == ()
        assert np.array_equal(before, sums[:, 5:])
        found.append(changed)
    assert np.array_equal(found[0], found[1])
    words = [4, 4, 4, 2, 2, 4, 4, 4]
    for row, count in enumerate(words):
        assert np.mean(found[0][:, row, :count] != sums[:, row, :count]) > 0.9


EXTREMES = r"""
#define RED(OPERATION, KIND, ...) asm volatile("red.global." OPERATION ".noftz." KIND \
    :: "l"(at++), __VA_ARGS__ : "memory")
#define FOUR_OF(v) "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3])
#define OF(OPERATION, TYPE) \
    RED(OPERATION, "v2." TYPE " [%0], {%1, %2};", "h"(given[0]), "h"(given[1])); \
    RED(OPERATION, "v4." TYPE " [%0], {%1, %2, %3, %4};", FOUR_OF(given)); \
    RED(OPERATION, "v8." TYPE " [%0], {%1, %2, %3, %4, %5, %6, %7, %8};", \
        FOUR_OF(given), FOUR_OF((given + 4))); \
    RED(OPERATION, "v2." TYPE "x2 [%0], {%1, %2};", "r"(pairs[0]), "r"(pairs[1])); \
    RED(OPERATION, "v4." TYPE "x2 [%0], {%1, %2, %3, %4};", \
        "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])); \
    { \
        uint2 old; \
        asm volatile("atom.global." OPERATION ".noftz.v2." TYPE "x2 {%0, %1}, [%2], {%3, %4};" \
            : "=r"(old.x), "=r"(old.y) : "l"(at++), "r"(pairs[0]), "r"(pairs[1]) : "memory"); \
        before[i] = old; \
    }

extern "C" __global__ void k(uint4* place, const uint4* in, uint2* before) {
    const int i = threadIdx.x;
    uint4* at = place + 6 * i;
    const unsigned short* given = reinterpret_cast<const unsigned short*>(in + i);
    const unsigned* pairs = reinterpret_cast<const unsigned*>(in + i);
    OF(@OPERATION@, @TYPE@)
}
"""
_HALVES_CHANGED = (2, 4, 8, 4, 8, 4)
"""Halves that each instruction of EXTREMES changes."""
_NAN, _NEGATIVE_ZERO = {"f16": 0x7E01, "bf16": 0x7FC1}, 0x8000
_CANONICAL_NAN = 0x7FFF


def _number(raw: int, kind: str) -> float:
    bits = np.array([raw], np.uint16)
    if kind == "f16":
        return float(bits.view(np.float16)[0])
    return float((bits.astype(np.uint32) << 16).view(np.float32)[0])


def _extreme(operation: str, old: int, value: int, kind: str) -> int:
    """The result for NaN and a number is the number; -0 is less than +0."""
    a, b = _number(old, kind), _number(value, kind)
    if math.isnan(a) or math.isnan(b):
        both = math.isnan(a) and math.isnan(b)
        return _CANONICAL_NAN if both else value if math.isnan(a) else old
    chosen = min if operation == "min" else max
    return chosen((a, old < _NEGATIVE_ZERO, old), (b, value < _NEGATIVE_ZERO, value))[2]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_of_halves_replace_each_half_of_a_vector(
    compile_ptx: CompilePtx, read_source: ReadSource, operation: str, kind: str
) -> None:
    draw = np.random.default_rng(4)
    special = np.array([0, _NEGATIVE_ZERO, 1, 0x8001, _NAN[kind], 0x7C00, 0xFC00], np.uint16)
    given, start = (
        np.where(draw.random((_LANES, rows, 8)) < 0.5, draw.choice(special, (_LANES, rows, 8)),
                 draw.integers(0, 0x10000, (_LANES, rows, 8))).astype(np.uint16)
        for rows in (1, 6)
    )  # fmt: skip
    wanted = start.copy()
    for lane in range(_LANES):
        for row, count in enumerate(_HALVES_CHANGED):
            for h in range(count):
                values = int(start[lane, row, h]), int(given[lane, 0, h])
                wanted[lane, row, h] = _extreme(operation, *values, kind)
    source = EXTREMES.replace("@OPERATION@", f'"{operation}"').replace("@TYPE@", f'"{kind}"')
    code = read_source(source)
    assert f"REDG.E.{operation.upper()}.{kind.upper()}x8" in str(code.functions["k"].instructions)
    for begin in (launch, launch_machine_code):
        module = compile_ptx(source) if begin is launch else code
        changed, before = start.copy(), np.zeros((_LANES, 4), np.uint16)
        report = begin(module, "k", 1, _LANES, [changed, given, before])
        assert report.faults == ()
        assert np.array_equal(before, start[:, 5, :4])
        assert np.array_equal(changed, wanted)


@pytest.mark.parametrize(
    "text",
    ["red.global.min.noftz.f16x2 [%a0], %r1;",
     "red.global.min.v2.u32 [%a0], {%r1, %r2};",
     "red.global.min.v2.f32 [%a0], {%f1, %f2};",
     "red.shared.max.noftz.v2.f16x2 [%r3], {%r1, %r2};",
     "red.global.max.noftz.v8.f16x2 [%a0], {%r1, %r2, %r1, %r2, %r1, %r2, %r1, %r2};"],
)  # fmt: skip
def test_vectors_that_ptxas_refuses_are_refused(text: str) -> None:
    with pytest.raises(UnknownInstruction):
        launch(parse(ptx_kernel(text)), "k", 1, 1, [np.zeros(8, np.uint32)])
