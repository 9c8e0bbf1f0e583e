"""Floating-point operations, compared with counts made by hand and with an H200's readings."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import LaunchReport, parse
from harness.emulator.program.analysis.flops import INSTRUCTIONS, PRECISIONS, Arithmetic, arithmetic

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define KERNEL(name, T, value) \
    extern "C" __global__ void name(const T* in, T* out) { \
        const T x = in[threadIdx.x], y = in[128 + threadIdx.x], z = in[256 + threadIdx.x]; \
        (void)z; out[threadIdx.x] = value; \
    }
KERNEL(half_add, __half, __hadd_rn(x, y))
KERNEL(half_sub, __half, __hsub_rn(x, y))
KERNEL(half_mul, __half, __hmul_rn(x, y))
KERNEL(half_fma, __half, __hfma(x, y, z))
KERNEL(bf16_mul, __nv_bfloat16, __hmul_rn(x, y))
KERNEL(half_pair_fma, __half2, __hfma2(x, y, z))
KERNEL(bf16_pair_fma, __nv_bfloat162, __hfma2(x, y, z))
KERNEL(float_add, float, __fadd_rn(x, y))
KERNEL(float_sub, float, __fsub_rn(x, y))
KERNEL(float_mul, float, __fmul_rn(x, y))
KERNEL(float_fma, float, __fmaf_rn(x, y, z))
KERNEL(float_max, float, fmaxf(x, y))
KERNEL(float_select, float, x < y ? y : x)
KERNEL(double_add, double, __dadd_rn(x, y))
KERNEL(double_sub, double, __dsub_rn(x, y))
KERNEL(double_mul, double, __dmul_rn(x, y))
KERNEL(double_fma, double, __fma_rn(x, y, z))
extern "C" __global__ void horner(const float* in, float* out, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    float sum = 0.5f;
    for (int k = 0; k < 10; ++k) sum = __fmaf_rn(sum, x, 1.0f);
    out[i] = __fmul_rn(__fsub_rn(sum, x), x);
}
"""
THREADS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


def instructions(report: LaunchReport) -> dict[str, float]:
    """The thread instructions of each kind that occurs."""
    found = {kind: report.counter(THREADS.format(kind)).value for kind in INSTRUCTIONS}
    return {kind: value for kind, value in found.items() if value}


def operations(report: LaunchReport) -> dict[str, float]:
    found = {each: report.counter(f"flops_{each}").value for each in PRECISIONS}
    return {each: value for each, value in found.items() if value}


# Read on an H200 with Nsight Compute 2025.3.1: each of these kernels, 128 threads, one operation
# per thread. An instruction on a pair counts once, like one on a single half.
@pytest.mark.parametrize(
    ("kernel", "type_", "kind", "precision", "flops"),
    [
        ("half_add", "f2", "hadd", "fp16", 1),
        ("half_sub", "f2", "hadd", "fp16", 1),
        ("half_mul", "f2", "hmul", "fp16", 1),
        ("half_fma", "f2", "hfma", "fp16", 2),
        ("bf16_mul", "u2", "hmul", "fp16", 1),
        ("half_pair_fma", "u4", "hfma", "fp16", 4),
        ("bf16_pair_fma", "u4", "hfma", "fp16", 4),
        ("float_add", "f4", "fadd", "fp32", 1),
        ("float_sub", "f4", "fadd", "fp32", 1),
        ("float_mul", "f4", "fmul", "fp32", 1),
        ("float_fma", "f4", "ffma", "fp32", 2),
        ("double_add", "f8", "dadd", "fp64", 1),
        ("double_sub", "f8", "dadd", "fp64", 1),
        ("double_mul", "f8", "dmul", "fp64", 1),
        ("double_fma", "f8", "dfma", "fp64", 2),
    ],
)
def test_each_operation_counts_as_hardware_counts_it(
    compile_ptx: CompilePtx, kernel: str, type_: str, kind: str, precision: str, flops: int
) -> None:
    report = run(compile_ptx(SOURCE), kernel, 2, 64, [np.zeros(384, type_), np.zeros(128, type_)])
    assert instructions(report) == {kind: 128}
    assert operations(report) == {precision: 128 * flops}
    assert report.counter(THREADS.format(kind)).provenance == "ptx-level"


@pytest.mark.parametrize("kernel", ["float_max", "float_select"])
def test_comparisons_and_extremes_are_no_operations(compile_ptx: CompilePtx, kernel: str) -> None:
    report = run(compile_ptx(SOURCE), kernel, 2, 64, [np.ones(384, "f4"), np.ones(128, "f4")])
    assert report.thread_instructions > 0
    assert instructions(report) == {}
    assert operations(report) == {}


def test_the_operations_of_a_polynomial_are_those_of_the_threads_within_bounds(
    compile_ptx: CompilePtx,
) -> None:
    n = 77
    x = np.ones(n, np.float32)
    report = run(compile_ptx(SOURCE), "horner", 1, 128, [x, np.zeros(n, np.float32), n])
    assert instructions(report) == {"ffma": 10 * n, "fadd": n, "fmul": n}
    assert operations(report) == {"fp32": 22 * n}
    assert sum(each.flops for each in report.instructions) == 22 * n
    assert {each.flops for each in report.instructions if each.opcode.startswith("fma")} == {2 * n}


def test_a_lane_whose_guard_is_off_computes_nothing() -> None:
    body = """
    setp.lt.u32 %p1, %i, 5;
    @%p1 add.f32 %f1, %f1, %f2;
    @!%p1 mul.rn.f64 %d1, %d1, %d2;
    """
    report = run(parse(ptx_kernel(body)), "k", 2, 40, [])
    assert instructions(report) == {"fadd": 2 * 5, "dmul": 2 * 35}


def test_what_has_no_counter_in_nsight_compute_counts_nothing() -> None:
    body = """
    div.rn.f32 %f1, %f2, %f3;
    sqrt.rn.f32 %f1, %f2;
    rcp.approx.f32 %f1, %f2;
    ex2.approx.f32 %f1, %f2;
    neg.f32 %f1, %f2;
    min.f32 %f1, %f2, %f3;
    cvt.f64.f32 %d1, %f2;
    add.u32 %r1, %r2, %r3;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    """
    report = run(parse(ptx_kernel(body)), "k", 1, 32, [])
    assert report.instruction_mix["sqrt.rn"] == 1
    assert instructions(report) == {}
    assert operations(report) == {}


def test_an_atomic_sum_is_none_of_the_threads_operations() -> None:
    body = "ld.param.u64 %a0, [p0]; red.global.add.f32 [%a0], 0f3F800000;"
    total = np.zeros(1, np.float32)
    report = run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [total])
    assert total[0] == 64
    assert operations(report) == {}


MMA = """
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%f1,%f2,%f3,%f4},{%r1,%r2,%r3,%r4},{%r5,%r6},{%f1,%f2,%f3,%f4};
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2},{%d3},{%d4},{%d1,%d2};
    mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
        {%r1,%r2,%r3,%r4},{%r5,%r6,%r7,%r8},{%r9,%r10},{%r1,%r2,%r3,%r4};
"""


SPARSE = """
    mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%f1,%f2,%f3,%f4},{%r1,%r2},{%r3,%r4},{%f1,%f2,%f3,%f4},0x44444444,0x0;
"""


def test_of_a_sparse_products_operations_the_half_that_is_executed_counts() -> None:
    report = run(parse(ptx_kernel(SPARSE)), "k", 1, 32, [])
    assert operations(report) == {"tensor": 2 * 16 * 8 * 8}


def test_a_matrix_instruction_is_two_operations_for_each_product_and_those_of_integers_none() -> (
    None
):
    report = run(parse(ptx_kernel(MMA)), "k", 3, 64, [])
    warps = 3 * 2
    assert operations(report) == {"tensor": warps * 2 * (16 * 8 * 16 + 8 * 8 * 4)}
    assert instructions(report) == {}
    by_opcode = {
        each.opcode.split(".")[3]: each.flops for each in report.instructions if each.flops
    }
    assert by_opcode == {"m16n8k16": warps * 4096, "m8n8k4": warps * 512}


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("mad.rn.f32", Arithmetic("fp32", "ffma", 2)),
        ("fma.rn.ftz.sat.f32", Arithmetic("fp32", "ffma", 2)),
        ("sub.rn.f16x2", Arithmetic("fp16", "hadd", 2)),
        ("mul.bf16x2", Arithmetic("fp16", "hmul", 2)),
        ("fma.rn.relu.bf16", Arithmetic("fp16", "hfma", 2)),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", Arithmetic("tensor", "", 256)),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32", None),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", None),
        ("atom.global.add.f32", None),
        ("add.s32", None),
        ("mul.wide.u16", None),
        ("add.u16x2", None),
        ("bra", None),
    ],
)
def test_an_opcode_says_what_it_computes(opcode: str, expected: Arithmetic | None) -> None:
    assert arithmetic(opcode) == expected
