"""Asynchronous copies: when they complete, the zeros that follow the copied bytes, and their
sectors.

The sectors are those that an H200 counted for tiles with padded rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from sass.conftest import ReadSource

from harness.emulator.sass import launch_machine_code

COPIES = """extern "C" __global__ void k(const float* in, float* out) {
    __shared__ __align__(128) float tile[ROWS * STRIDE];
    const unsigned int row = threadIdx.x * 4 / LENGTH, column = threadIdx.x * 4 % LENGTH;
    const unsigned int to = __cvta_generic_to_shared(&tile[row * STRIDE + column]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::
                 "r"(to), "l"(in + row * 1024 + column));
    asm volatile("cp.async.wait_all;");
    __syncthreads();
    out[threadIdx.x] = tile[row * STRIDE + column];
}"""


@pytest.mark.parametrize(
    ("length", "stride", "sectors"),
    [
        (16, 16, 16),  # consecutive rows of 64 bytes
        (16, 20, 20),  # every second row begins in the middle of a sector of shared memory
        (32, 36, 18),  # the same for rows of 128 bytes
        (128, 136, 16),  # one row per warp
    ],
)
def test_a_sector_that_lands_in_two_is_fetched_for_both(
    read_source: ReadSource, length: int, stride: int, sectors: int
) -> None:
    text = COPIES.replace("LENGTH", str(length)).replace("STRIDE", str(stride))
    code = read_source(text.replace("ROWS", str(128 // length)))
    given = np.arange(8 * 1024, dtype=np.float32)
    out = np.zeros(32, np.float32)
    report = launch_machine_code(code, "k", 1, 32, [given, out])
    assert report.faults == ()
    lanes = 4 * np.arange(32)
    assert np.array_equal(out, given[lanes // length * 1024 + lanes % length])
    copy = next(each for each in report.instructions if each.opcode.startswith("LDGSTS"))
    assert (copy.global_requests, copy.global_sectors) == (1, sectors)


FILLED = """#include <cuda_pipeline.h>
template <class T> __device__ void filled(const T* in, T* out, int bytes) {
    __shared__ T s[32];
    const int size = sizeof(T), left = bytes - size * (int)threadIdx.x, t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &in[t], size, size - min(max(left, 0), size));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void by_16(const float4* in, float4* out, int n) { filled(in, out, n); }
extern "C" __global__ void by_8(const float2* in, float2* out, int n) { filled(in, out, n); }
extern "C" __global__ void by_4(const float* in, float* out, int n) { filled(in, out, n); }
"""


@pytest.mark.parametrize("kernel", ["by_16", "by_8", "by_4"])
def test_zeros_stand_behind_the_bytes_that_are_copied(read_source: ReadSource, kernel: str) -> None:
    code, size = read_source(FILLED), 32 * int(kernel[3:])
    for count in (0, 1, 6, 37, size - 3, size):
        given = np.arange(1, count + 1, dtype=np.uint8)  # nothing is read beyond its end
        out = np.ones(size, np.uint8)
        report = launch_machine_code(code, kernel, 1, 32, [given, out, count])
        assert report.faults == ()
        assert out[:count].tolist() == given.tolist()
        assert not out[count:].any()


@pytest.mark.parametrize(("bytes_", "label"), [(512, "machine-exact"), (256, "emulator-model")])
def test_ideal_wavefronts_are_a_model_where_some_of_the_lanes_write_zeros(
    read_source: ReadSource, bytes_: int, label: str
) -> None:
    """For such copies an H200 counted more than the rule for complete copies predicts."""
    given, out = np.zeros(512, np.uint8), np.empty(512, np.uint8)
    report = launch_machine_code(read_source(FILLED), "by_16", 1, 32, [given, out, bytes_])
    assert report.faults == ()
    assert report.counter("memory_l1_wavefronts_shared_ideal").provenance == label


GROUPS = """#include <cuda_pipeline.h>
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[3 * 32];
    for (int n = 0; n < 3; n++) {
        s[32 * n + threadIdx.x] = -1;
        __pipeline_memcpy_async(&s[32 * n + threadIdx.x], &in[32 * n + threadIdx.x], 4);
        __pipeline_commit();
    }
    __pipeline_wait_prior(LEFT);
    volatile int* found = s + threadIdx.x;
    for (int n = 0; n < 3; n++) out[32 * n + threadIdx.x] = found[32 * n];
    __pipeline_wait_prior(0);
}
"""


@pytest.mark.parametrize("left", [0, 1, 2])
def test_what_is_not_waited_for_has_not_landed(read_source: ReadSource, left: int) -> None:
    code = read_source(GROUPS.replace("LEFT", str(left)))
    out = np.zeros(96, np.int32)
    assert launch_machine_code(code, "k", 1, 32, [np.arange(96, dtype=np.int32), out]).faults == ()
    landed = 32 * (3 - left)
    assert out.tolist() == [*range(landed), *[-1] * (96 - landed)]
