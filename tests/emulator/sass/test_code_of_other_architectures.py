"""Machine code of each architecture gives the same results as PTX."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx
from sass.conftest import ReadSource

from harness.emulator import launch
from harness.emulator.sass import launch_machine_code
from harness.emulator.sass.architectures import ARCHITECTURES

SOURCE = """extern "C" __global__
void k(const float* in, float* out, long long stride, int which, float scale) {
    __shared__ float own[48];
    const int i = blockIdx.y * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x;
    float local[4];
    for (int j = 0; j < 4; j++) local[j] = in[(i + j * stride) % 192];
    own[threadIdx.x] = in[i] * scale;
    __syncthreads();
    const float* from = which ? own : in;
    float sum = from[47 - threadIdx.x] + local[(i + which) & 3];
    if (threadIdx.x % 3) {
        const unsigned int here = __activemask();
        sum += __shfl_sync(here, sum, __ffs(here) - 1) * gridDim.y;
    }
    __syncwarp();
    out[i] = sum;
}"""
"""Constants that the driver sets, local and generic addresses, 64-bit sums, lanes that diverge, and
half-full warps. Code for sm_87 first clears the convergence barriers."""


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("arch", ["sm_75", "sm_87", "sm_100", "sm_120"])
def test_machine_code_of_an_architecture_computes_what_its_ptx_does(
    read_source: ReadSource, compile_ptx: CompilePtx, arch: str, which: int
) -> None:
    given = np.random.default_rng(3).random(192, np.float32)
    ours, theirs = np.zeros_like(given), np.zeros_like(given)
    machine = launch_machine_code(
        read_source(SOURCE, arch), "k", (2, 2), 48, [given, ours, 5, which, 1.5]
    )
    ptx = launch(compile_ptx(SOURCE, arch), "k", (2, 2), 48, [given, theirs, 5, which, 1.5])
    assert not machine.faults, machine.faults
    assert not ptx.faults
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


def test_only_an_architecture_whose_hardware_was_read_is_called_so() -> None:
    assert [each.name for each in ARCHITECTURES.values() if each.was_read] == ["sm_90"]


FALLING = """extern "C" __global__ void k(const int* a, int* out) {
    const int i = threadIdx.x, x = a[i];
    int sum = 0;
    switch (x & 7) {
        case 7: sum += a[x & 31];
        case 6: sum ^= x * 3;
        case 5: sum += a[x >> 3 & 31];
        case 4: sum ^= x * 5; break;
        case 3: sum += 7;
        case 2: sum ^= a[x >> 5 & 31];
        case 1: sum += x;
        default: return;
    }
    out[i] = sum + x;
}"""


def test_lanes_leave_a_barrier_that_the_others_still_meet_at(
    read_source: ReadSource, compile_ptx: CompilePtx
) -> None:
    code = read_source(FALLING, "sm_120")
    texts = " ".join(each.text for each in code.functions["k"].instructions)
    for form in ("BSSY.RELIABLE", "BREAK.RELIABLE", "BSYNC.RELIABLE"):
        assert form in texts, form
    given = np.random.default_rng(4).integers(0, 1 << 20, 32, np.int32)
    ours, theirs = np.zeros_like(given), np.zeros_like(given)
    assert not launch_machine_code(code, "k", 1, 32, [given, ours]).faults
    assert not launch(compile_ptx(FALLING, "sm_120"), "k", 1, 32, [given, theirs]).faults
    np.testing.assert_array_equal(ours, theirs)


WIDE = """extern "C" __global__
void k(unsigned long long* a, const long long* b, long long u, float f) {
    const int i = threadIdx.x;
    const unsigned long long x = a[i];
    const long long y = b[i];
    a[i + 32] = x + 0xfffffff0ull;
    a[i + 64] = x - 16;
    a[i + 96] = x < 0xfffffff0ull;
    a[i + 128] = y < -16ll;
    a[i + 160] = x > 10 ? 0xfffffff0ull : y;
    a[i + 192] = x > 11 ? -16ll : y;
    a[i + 224] = y == u ? x : 3 - y;
    a[i + 256] = u < 0xffffff00ll ? u - y : __float_as_uint(2.5f - f * 3.0f);
}"""


def test_sums_choices_and_comparisons_of_64_bits_take_an_immediate_as_it_is_printed(
    read_source: ReadSource, compile_ptx: CompilePtx
) -> None:
    code = read_source(WIDE, "sm_120")
    texts = [each.text for each in code.functions["k"].instructions]
    for form in ("IADD.64", "SEL.64", "ISETP.GE.S64", "ISETP.GE.U64", "UMOV.64", "LDCU.64"):
        assert any(form in text for text in texts), form
    values = np.array([0, 5, 12, 0xFFFFFFF0, 0xFFFFFFEF, 1 << 40, -1, -16] * 4, np.int64)
    for u in (-1, 1 << 40):
        a = np.concatenate([values, np.zeros(256, np.int64)]).view(np.uint64)
        machine, ptx = a.copy(), a.copy()
        args = [values[::-1].copy(), u, -0.75]
        assert not launch_machine_code(code, "k", 1, 32, [machine, *args]).faults
        assert not launch(compile_ptx(WIDE, "sm_120"), "k", 1, 32, [ptx, *args]).faults
        np.testing.assert_array_equal(machine, ptx)
