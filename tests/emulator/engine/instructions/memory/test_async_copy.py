"""cp.async: the copied bytes, when they arrive, and the bytes filled with zeros."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import launch, parse

SOURCE = r"""
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void two_groups(const float4* in, float4* out) {
    __shared__ float4 s[2][64];
    __pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][threadIdx.x], &in[threadIdx.x + 64], 16, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[threadIdx.x] = s[0][threadIdx.x ^ 1];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x + 64] = s[1][threadIdx.x ^ 1];
}
extern "C" __global__ void whole_block(const float* in, float* out, unsigned n) {
    __shared__ float s[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s, in + blockIdx.x * 256, sizeof(float) * 256);
    cg::wait(block);
    out[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}
// A ring of stages, as a tiled kernel has it.
extern "C" __global__ void ring(const int* in, int* out, int tiles) {
    __shared__ int s[3][64];
    int t = threadIdx.x, sum = 0;
    for (int k = 0; k < 2; k++) {
        if (k < tiles) __pipeline_memcpy_async(&s[k][t], &in[k * 64 + t], 4);
        __pipeline_commit();
    }
    for (int k = 0; k < tiles; k++) {
        __pipeline_wait_prior(1);
        __syncthreads();
        if (k + 2 < tiles) __pipeline_memcpy_async(&s[(k + 2) % 3][t], &in[(k + 2) * 64 + t], 4);
        __pipeline_commit();
        sum = sum * 3 + s[k % 3][63 - t];
    }
    out[t] = sum;
}
"""


def test_groups_land_in_the_order_of_their_commits(compile_ptx: CompilePtx) -> None:
    given = np.random.default_rng(1).random((128, 4), dtype=np.float32)
    out = np.zeros_like(given)
    report = run(compile_ptx(SOURCE), "two_groups", 1, 64, [given, out])
    partner = np.arange(64) ^ 1
    assert (out[:64] == given[partner]).all()
    filled = given[64:][partner]
    filled[:, 3] = 0  # the copies request zeros for four bytes each
    assert (out[64:] == filled).all()
    copies = [i for i in report.instructions if i.opcode.startswith("cp.async.cg")]
    assert [i.global_requests for i in copies] == [2, 2]
    assert [i.global_sectors for i in copies] == [32, 32]
    assert [i.shared_requests for i in copies] == [2, 2]
    requests = "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum"
    counter = report.counter(requests)
    assert (counter.value, counter.provenance) == (4, "emulator-model")
    loads = report.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
    assert (loads.value, loads.provenance) == (4, "emulator-model")  # there are no other loads
    assert report.counter("shared_ld_instructions").value == sum(
        i.shared_requests for i in report.instructions if i.opcode.startswith("ld.shared")
    )
    assert report.counter("memory_l1_wavefronts_shared").provenance == "emulator-model"


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_cooperative_groups_copy_a_blocks_tile(compile_ptx: CompilePtx, arch: str) -> None:
    given = np.random.default_rng(2).random(1024, dtype=np.float32)
    out = np.zeros_like(given)
    run(compile_ptx(SOURCE, arch), "whole_block", 4, 256, [given, out, 1024])
    assert (out.reshape(4, 256) == given.reshape(4, 256)[:, ::-1]).all()


def test_a_ring_of_stages(compile_ptx: CompilePtx) -> None:
    given = np.random.default_rng(3).integers(0, 100, (7, 64), dtype=np.int32)
    out = np.zeros(64, np.int32)
    run(compile_ptx(SOURCE), "ring", 1, 64, [given, out, 7])
    wanted = np.zeros(64, np.int64)
    for tile in given:
        wanted = wanted * 3 + tile[::-1]
    assert (out == wanted.astype(np.int32)).all()


BODY = """
    ld.param.u64 %a0, [p0];
    ld.param.u64 %a1, [p1];
    mad.wide.u32 %a2, %i, 4, %a0;
    mad.wide.u32 %a3, %i, 4, %a1;
    mov.u32 %r1, buffer;
    mad.lo.u32 %r1, %i, 4, %r1;
    mov.u32 %r2, 7;
    st.shared.u32 [%r1], %r2;
    {copy}
    ld.shared.u32 %r3, [%r1];
    st.global.u32 [%a3], %r3;
"""
BUFFER = ".shared .align 16 .b8 buffer[1024];"


def _copied(copy: str, given: np.ndarray) -> np.ndarray:
    out = np.zeros(64, np.uint32)
    module = parse(ptx_kernel(BODY.format(copy=copy), ["u64", "u64"], BUFFER))
    run(module, "k", 1, 64, [given, out], checks=False)
    return out


COPY = "cp.async.ca.shared.global [%r1], [%a2], 4;"


def test_bytes_land_at_the_wait_and_not_before() -> None:
    given = np.arange(100, 164, dtype=np.uint32)
    old = [7] * 64
    assert _copied(COPY, given).tolist() == old
    assert _copied(f"{COPY} cp.async.commit_group; cp.async.wait_group 1;", given).tolist() == old
    for wait in ("cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;"):
        assert (_copied(f"{COPY} {wait}", given) == given).all()
    # Uncommitted copies belong to no group, so wait_group does not wait for them.
    assert _copied(f"{COPY} cp.async.wait_group 0;", given).tolist() == old


def test_each_thread_waits_for_its_own_copies() -> None:
    given = np.arange(100, 164, dtype=np.uint32)
    found = _copied(f"{COPY} cp.async.commit_group; setp.lt.u32 %p1, %i, 40;"
                    "@%p1 cp.async.wait_group 0;", given)  # fmt: skip
    assert found.tolist() == [*given[:40].tolist(), *[7] * 24]


def test_a_tail_is_filled_with_zeros_and_not_read() -> None:
    given = np.arange(100, 150, dtype=np.uint32)  # 50 words for 64 lanes
    found = _copied(
        "setp.lt.u32 %p1, %i, 50; selp.u32 %r5, 4, 0, %p1;"
        "cp.async.ca.shared.global [%r1], [%a2], 4, %r5; cp.async.wait_all;", given
    )  # fmt: skip
    assert found.tolist() == [*given.tolist(), *[0] * 14]
    module = parse(ptx_kernel(BODY.format(copy=COPY), ["u64", "u64"], BUFFER))
    report = launch(module, "k", 1, 64, [given, np.zeros(64, np.uint32)])
    assert report.faults[0].kind == "out of bounds"


def test_a_warp_that_asks_for_zeros_alone_reads_nothing() -> None:
    one_word = np.ones(1, np.uint32)  # out of bounds for all but one of the 64 lanes
    found = _copied(
        "mov.u32 %r5, 0; cp.async.ca.shared.global [%r1], [%a2], 4, %r5; cp.async.wait_all;",
        one_word,
    )
    assert not found.any()
