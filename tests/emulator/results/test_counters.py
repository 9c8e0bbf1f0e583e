"""Counters compared with an H200's readings for the same kernel, and with counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import LaunchReport, parse

SOURCE = r"""
extern "C" __global__ void interleaved(const float* in, float* out) {
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned i = 1; i < 256; i *= 2) {
        unsigned k = 2 * i * t;
        if (k < 256) s[k] += s[k + i];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}
extern "C" __global__ void strided(const float* in, float* out, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i * stride];
}
extern "C" __global__ void atomics(unsigned* bins, unsigned* found) {
    __shared__ unsigned s[64];
    s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 4], 3u);
    found[threadIdx.x] = atomicAdd(&bins[4 + threadIdx.x], threadIdx.x);
    atomicAdd(&s[threadIdx.x % 2], 5u);
    atomicAdd(&s[threadIdx.x % 2], 1u);
}
"""

LD = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
ST = "l1tex__t_{}_pipe_lsu_mem_global_op_st.sum"


def _value(report: LaunchReport, name: str) -> float:
    return report.counter(name).value


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_interleaved_addressing_costs_the_wavefronts_that_hardware_read(
    compile_ptx: CompilePtx, arch: str
) -> None:
    """For 2^22 floats in blocks of 256, 2,457,600 wavefronts were read, 737,280 of them ideal: 150
    and 45 per block."""
    blocks = 64
    values = np.random.default_rng(1).random(256 * blocks, dtype=np.float32)
    report = run(
        compile_ptx(SOURCE, arch), "interleaved", blocks, 256, [values, np.zeros(blocks, "f4")]
    )
    assert _value(report, "memory_l1_wavefronts_shared") == 2_457_600 // 16384 * blocks
    assert _value(report, "memory_l1_wavefronts_shared_ideal") == 737_280 // 16384 * blocks
    # The current ptxas reads both numbers of the first step as 8 bytes.
    assert report.counter("memory_l1_wavefronts_shared").provenance == "ptx-level"
    assert _value(report, LD.format("requests")) == 8 * blocks
    assert _value(report, LD.format("sectors")) == 32 * blocks
    assert _value(report, ST.format("requests")) == blocks
    assert _value(report, ST.format("sectors")) == blocks
    assert _value(report, "barrier_instructions") == 9 * 8 * blocks


@pytest.mark.parametrize(
    ("stride", "sectors"), [(1, 4), (2, 8), (3, 12), (8, 32), (32, 32), (0, 1)]
)
def test_a_strided_load_touches_more_sectors_for_the_same_requests(
    compile_ptx: CompilePtx, stride: int, sectors: int
) -> None:
    values, out = np.zeros(256 * max(stride, 1), np.float32), np.zeros(256, np.float32)
    report = run(compile_ptx(SOURCE), "strided", 4, 64, [values, out, stride])
    assert _value(report, LD.format("requests")) == 8
    assert _value(report, LD.format("sectors")) == 8 * sectors
    assert _value(report, ST.format("sectors")) == 32


def test_atomics_split_into_reductions_and_those_whose_result_is_used(
    compile_ptx: CompilePtx,
) -> None:
    report = run(
        compile_ptx(SOURCE), "atomics", 1, 64, [np.zeros(80, np.uint32), np.zeros(64, np.uint32)]
    )
    name = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
    assert _value(report, name.format("requests", "red")) == 2
    assert _value(report, name.format("sectors", "red")) == 2 * 8  # 8 lanes a word: 8 rounds
    assert _value(report, name.format("requests", "atom")) == 2
    assert _value(report, name.format("sectors", "atom")) in (8, 10)  # 16 bytes in: 5 sectors
    assert _value(report, "shared_atom_instructions") == 4
    # The clearing stores: 2. Adding 5: 16 lanes per bank, 2 warps. Adding 1: the same as a store.
    assert _value(report, "memory_l1_wavefronts_shared") == 2 + 2 * 16 + 2 * 1


def test_warp_and_thread_instructions_are_counted_by_hand() -> None:
    body = """
    setp.lt.u32 %p1, %i, 8;
    @%p1 bra L;
    add.u32 %r1, %r1, 1;
    add.u32 %r1, %r1, 1;
    L: add.u32 %r1, %r1, 1;
    """
    report = run(parse(ptx_kernel(body)), "k", 3, 48, [])
    # mov, setp, bra, add, ret by both warps; two adds by 24 and 16 lanes.
    assert _value(report, "smsp__inst_executed.sum") == 3 * (2 * 5 + 2 * 2)
    assert _value(report, "smsp__thread_inst_executed.sum") == 3 * (5 * 48 + 2 * 40)
    # The branch's predicate is on for the eight lanes that take it.
    on = 3 * (4 * 48 + 8 + 2 * 40)
    assert _value(report, "smsp__thread_inst_executed_pred_on.sum") == on
    assert report.thread_instructions == on
    ratio = _value(report, "smsp__thread_inst_executed_per_inst_executed.ratio")
    assert ratio == (5 * 48 + 2 * 40) / 14


def test_every_instruction_has_its_own_counts_and_line(compile_ptx: CompilePtx) -> None:
    values, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    report = run(compile_ptx(SOURCE), "strided", 4, 64, [values, out, 1])
    line = next(n for n, t in enumerate(SOURCE.split("\n"), 1) if "in[i * stride]" in t)
    loads = [i for i in report.instructions if i.opcode.startswith("ld.global")]
    assert [(i.line, i.global_requests, i.global_sectors) for i in loads] == [(line, 8, 32)]
    assert sum(i.warps for i in report.instructions) == _value(report, "smsp__inst_executed.sum")
    assert report.instruction_mix["ld.global.nc" if "nc" in loads[0].opcode else "ld.global"] == 8


def test_provenance_is_one_of_three_and_no_counter_repeats(compile_ptx: CompilePtx) -> None:
    report = run(
        compile_ptx(SOURCE), "atomics", 1, 64, [np.zeros(80, np.uint32), np.zeros(64, np.uint32)]
    )
    assert {c.provenance for c in report.counters} <= {
        "emulator-exact", "emulator-model", "ptx-level",
    }  # fmt: skip
    names = [c.name for c in report.counters]
    assert len(names) == len(set(names))
