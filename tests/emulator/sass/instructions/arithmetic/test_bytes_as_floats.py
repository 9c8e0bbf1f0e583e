"""8-bit floats and byte-wise predicates in machine code give the same results as PTX."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code
from harness.emulator.sass.instructions import lookup

SOURCE = r"""
#include <cuda_fp8.h>
template <__nv_fp8_interpretation_t KIND>
__device__ unsigned bytes_of(float high, float low) {
    return __nv_cvt_float2_to_fp8x2(make_float2(high, low), __NV_SATFINITE, KIND);
}
template <__nv_fp8_interpretation_t KIND>
__device__ void all_of(unsigned* out, const float* in, const unsigned* bits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = bytes_of<KIND>(in[i], in[n - 1 - i]) | bytes_of<KIND>(in[i ^ 1], 2 * in[i]) << 16;
    const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(bits[i] >> 16, KIND);
    out[n + i] = both.x | both.y << 16;
    __half2_raw halves;
    halves.x = bits[i], halves.y = bits[i] >> 16;
    out[2 * n + i] = __nv_cvt_halfraw2_to_fp8x2(halves, __NV_SATFINITE, KIND);
}
extern "C" __global__ void e4m3(unsigned* out, const float* in, const unsigned* bits, int n) {
    all_of<__NV_E4M3>(out, in, bits, n);
}
extern "C" __global__ void e5m2(unsigned* out, const float* in, const unsigned* bits, int n) {
    all_of<__NV_E5M2>(out, in, bits, n);
}
extern "C" __global__ void positive(unsigned* out, const float* in, const unsigned* bits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short a, b;
    asm("cvt.rn.satfinite.relu.e4m3x2.f32 %0, %1, %2;" : "=h"(a) : "f"(in[i]), "f"(in[n - 1 - i]));
    asm("cvt.rn.satfinite.relu.e5m2x2.f16x2 %0, %1;" : "=h"(b) : "r"(bits[i]));
    out[i] = a, out[n + i] = b;
    asm("cvt.rn.relu.f16x2.e5m2x2 %0, %1;" : "=r"(out[2 * n + i]) : "h"((unsigned short)bits[i]));
}
"""
_N = 2048


@pytest.mark.parametrize("kernel", ["e4m3", "e5m2", "positive"])
def test_floats_of_8_bits_are_those_of_ptx(
    kernel: str, compile_ptx: CompilePtx, read_source: ReadSource
) -> None:
    rng = np.random.default_rng(8)
    given = (rng.normal(size=_N) * 10.0 ** rng.uniform(-9, 6, _N)).astype(np.float32)
    given[:8] = [0, -0.0, np.inf, -np.inf, np.nan, 448, -464.1, 1e-9]
    bits = rng.integers(0, 1 << 32, _N).astype(np.uint32)
    bits[:4] = [0x7E7FFEFF, 0x7C7BFCFB, 0x7C00FC00, 0x00018001]
    ours, theirs = np.zeros(3 * _N, np.uint32), np.zeros(3 * _N, np.uint32)
    found = launch_machine_code(read_source(SOURCE), kernel, 16, 128, [ours, given, bits, _N])
    wanted = launch(compile_ptx(SOURCE), kernel, 16, 128, [theirs, given, bits, _N])
    assert found.faults == wanted.faults == ()
    assert np.array_equal(ours, theirs)


def test_what_no_float_of_8_bits_has_is_refused() -> None:
    assert isinstance(lookup.find("F2FP", ["E4M3", "F32", "PACK_AB_MERGE_C"]), str)
    assert isinstance(lookup.find("F2FP", ["SATFINITE", "E2M1", "F32", "PACK_AB_MERGE_C"]), str)
