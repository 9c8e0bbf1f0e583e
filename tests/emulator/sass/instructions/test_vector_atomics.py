"""Atomics on vectors of floats and halves in machine code give the same results as PTX."""

from __future__ import annotations

import numpy as np
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
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
