"""Shuffles, votes, matches and reductions within a warp, and cooperative groups that use them."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import parse

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_reduce(const int* in, int* out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    unsigned i = block.group_index().x * block.size() + block.thread_rank();
    int sum = cg::reduce(tile, in[i], cg::plus<int>());
    int top = cg::reduce(tile, in[i], cg::greater<int>());
    auto small = cg::tiled_partition<8>(block);
    int part = in[i];
    for (int d = small.size() / 2; d > 0; d /= 2) part += small.shfl_down(part, d);
    out[4 * i] = sum;
    out[4 * i + 1] = top;
    out[4 * i + 2] = small.shfl(part, 0);
    out[4 * i + 3] = tile.meta_group_rank() * 100 + tile.thread_rank();
}

extern "C" __global__ void coalesced(const int* in, int* out) {
    int x = in[threadIdx.x];
    out[threadIdx.x] = 0;
    if (x > 0) {
        auto active = cg::coalesced_threads();
        out[threadIdx.x] = active.size() * 1000 + active.thread_rank();
    }
}

extern "C" __global__ void matches(const unsigned* in, unsigned* out) {
    unsigned x = in[threadIdx.x];
    int every;
    out[6 * threadIdx.x] = __match_any_sync(~0u, x);
    out[6 * threadIdx.x + 1] = __match_all_sync(~0u, x, &every);
    out[6 * threadIdx.x + 2] = every;
    out[6 * threadIdx.x + 3] = __ballot_sync(~0u, x & 1);
    out[6 * threadIdx.x + 4] = __all_sync(~0u, x < 8) * 2 + __any_sync(~0u, x == 3);
    out[6 * threadIdx.x + 5] = __reduce_xor_sync(~0u, x) + __reduce_add_sync(~0u, x) * 256;
}
"""


def _source(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudocode of shfl in the PTX ISA manual."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    top = (lane & segment) | (clamp & ~segment)
    bottom = lane & segment
    if mode == "up":
        j, inside = lane - b, lane - b >= top
    elif mode == "down":
        j, inside = lane + b, lane + b <= top
    elif mode == "bfly":
        j, inside = lane ^ b, (lane ^ b) <= top
    else:
        j = bottom | (b & ~segment)
        inside = j <= top
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("uniform", [True, False])
def test_shuffles_follow_the_manual(mode: str, uniform: bool) -> None:
    for width in (32, 16, 8, 2):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        for b in (0, 1, 5, 16, 31):
            lane_b = f"mov.u32 %r2, {b};" if uniform else f"add.u32 %r2, %i, {b};"
            body = f"""
            ld.param.u64 %a0, [p0];
            mad.wide.u32 %a0, %i, 8, %a0;
            mad.lo.u32 %r1, %i, 3, 100;
            {lane_b}
            shfl.sync.{mode}.b32 %r3|%p1, %r1, %r2, {c}, -1;
            selp.b32 %r4, 1, 0, %p1;
            st.global.v2.u32 [%a0], {{%r3, %r4}};
            """
            out = np.zeros((64, 2), np.uint32)
            run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [out])
            for t in range(64):
                j, inside = _source(mode, t % 32, b if uniform else t + b, c)
                assert out[t].tolist() == [(t // 32 * 32 + j) * 3 + 100, inside], (mode, t, b, c)


def test_a_partial_warp_shuffles_among_the_lanes_it_has() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    shfl.sync.down.b32 %r3, %i, 1, 31, -1;
    st.global.u32 [%a0], %r3;
    """
    out = np.zeros(40, np.uint32)
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 40, [out], checks=False)
    assert out[:31].tolist() == list(range(1, 32))
    assert out[32:39].tolist() == list(range(33, 40))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_cooperative_groups_reduce_and_shuffle(compile_ptx: CompilePtx, arch: str) -> None:
    values = np.random.default_rng(1).integers(-1000, 1000, 192, dtype=np.int32)
    out = np.zeros((192, 4), np.int32)
    run(compile_ptx(SOURCE, arch), "tile_reduce", 2, 96, [values, out])
    warps = values.reshape(-1, 32)
    assert out[:, 0].tolist() == np.repeat(warps.sum(axis=1), 32).tolist()
    assert out[:, 1].tolist() == np.repeat(warps.max(axis=1), 32).tolist()
    assert out[:, 2].tolist() == np.repeat(values.reshape(-1, 8).sum(axis=1), 8).tolist()
    thread = np.arange(192) % 96
    assert out[:, 3].tolist() == (thread // 32 * 100 + thread % 32).tolist()


def test_coalesced_groups_see_the_lanes_that_took_the_branch(compile_ptx: CompilePtx) -> None:
    values = np.random.default_rng(3).integers(-1, 2, 64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    run(compile_ptx(SOURCE), "coalesced", 1, 64, [values, out])
    for warp in (0, 32):
        taken = [t for t in range(warp, warp + 32) if values[t] > 0]
        for rank, t in enumerate(taken):
            assert out[t] == len(taken) * 1000 + rank


@pytest.mark.parametrize("drawn", ["mixed", "equal"])
def test_votes_matches_and_reductions(compile_ptx: CompilePtx, drawn: str) -> None:
    values = np.random.default_rng(8).integers(0, 9, 64, dtype=np.uint32)
    if drawn == "equal":
        values[:] = 5
    out = np.zeros((64, 6), np.uint32)
    run(compile_ptx(SOURCE), "matches", 1, 64, [values, out])
    for t in range(64):
        warp = values[t // 32 * 32 :][:32].tolist()
        same = sum(1 << i for i, v in enumerate(warp) if v == values[t])
        every = len(set(warp)) == 1
        xor = int(np.bitwise_xor.reduce(np.array(warp)))
        assert out[t].tolist() == [
            same, 0xFFFFFFFF if every else 0, int(every),
            sum(1 << i for i, v in enumerate(warp) if v & 1),
            2 * all(v < 8 for v in warp) + (3 in warp), xor + sum(warp) * 256,
        ]  # fmt: skip


def test_sync_may_stand_before_or_after_what_is_done() -> None:
    body = """
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 8, %a0;
    setp.lt.u32 %p1, %i, 5;
    vote.ballot.sync.b32 %r1, %p1, -1;
    shfl.idx.sync.b32 %r2, %i, 7, 31, -1;
    st.global.v2.u32 [%a0], {%r1, %r2};
    """
    out = np.zeros((32, 2), np.uint32)
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 32, [out])
    assert (out == (31, 7)).all()


def test_every_cluster_is_one_block_and_the_system_keeps_shared_memory_for_itself() -> None:
    wanted = {
        "cluster_ctaid.x": 0, "cluster_nctaid.y": 1, "cluster_ctarank": 0, "cluster_nctarank": 1,
        "clusterid.x": 2, "nclusterid.x": 3, "reserved_smem_offset_cap": 1024, "pm3": 0,
        "aggr_smem_size": 1024,
    }  # fmt: skip
    body = ["mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 2; @%p2 exit;",
            "ld.param.u64 %a0, [p0];", "mov.u32 %r3, %reserved_smem_offset_begin;",
            "mov.u32 %r4, %reserved_smem_offset_end;", "sub.u32 %r5, %r4, %r3;",
            "mov.pred %p1, %is_explicit_cluster;", "selp.u32 %r6, 1, 0, %p1;"]  # fmt: skip
    for n, name in enumerate(wanted):
        body.append(f"mov.u32 %r1, %{name}; st.global.u32 [%a0+{4 * n}], %r1;")
    count = len(wanted)
    body.append(f"st.global.v2.u32 [%a0+{4 * (count + 1)}], {{%r5, %r6}};")
    out = np.zeros(count + 3, np.uint32)
    run(parse(ptx_kernel("\n".join(body), ["u64"])), "k", 3, 1, [out])
    assert dict(zip(wanted, out.tolist(), strict=False)) == wanted
    assert out[count + 1 :].tolist() == [1024, 0]
