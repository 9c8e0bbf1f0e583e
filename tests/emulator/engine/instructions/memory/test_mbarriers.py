"""mbarriers in shared memory, and the bulk copies that complete their phases."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import UnknownInstruction, launch, parse
from harness.silicon.architectures import WARP_SIZE

RANDOM = np.random.default_rng(16)
MOST = (1 << 20) - 1
WORD = ".shared .align 8 .b64 b;"


class Reference:
    """An mbarrier as the PTX ISA defines it, in plain integers."""

    def __init__(self, count: int) -> None:
        self.expected = self.pending = count
        self.bytes = self.phase = 0

    def arrive(self, count: int = 1, expects: int = 0, drops: int = 0) -> None:
        self.bytes += expects
        self.pending -= count
        self.expected -= drops
        self._end_phase()

    def complete(self, size: int) -> None:
        self.bytes -= size
        self._end_phase()

    def _end_phase(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase += 1
            self.pending = self.expected


def _step(reference: Reference) -> str:
    """Choose a random instruction that is currently allowed, and apply it to the reference as
    well."""
    left, kind = reference.pending, int(RANDOM.integers(6))
    count, size = int(RANDOM.integers(1, left + 1)) if left else 0, int(RANDOM.integers(1, 5000))
    if kind == 0 and left:
        reference.arrive(count)
        return f"mbarrier.arrive.shared.b64 _, [b], {count};"
    if kind == 1 and left:
        reference.arrive(1, expects=size)
        return f"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [b], {size};"
    if kind == 2 and left and reference.expected > 1:
        reference.arrive(1, drops=1)
        return "mbarrier.arrive_drop.shared.b64 _, [b];"
    if kind == 3 and left:
        reference.bytes += size
        return f"mbarrier.expect_tx.relaxed.cta.shared.b64 [b], {size};"
    if kind == 4 and reference.bytes:
        size = int(RANDOM.integers(1, reference.bytes + 1))
        reference.complete(size)
        return f"mbarrier.complete_tx.shared::cluster.b64 [b], {size};"
    if not left:
        size = reference.bytes
        reference.complete(size)
        return f"mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [b], {size};"
    return ""


@pytest.mark.parametrize("case", range(4))
def test_any_order_of_arrivals_and_bytes_ends_the_phases_that_it_should(case: int) -> None:
    reference = Reference(int(RANDOM.integers(1, 9)))
    first = reference.pending
    body, wanted = [f"mbarrier.init.shared::cta.b64 [b], {first};", "ld.param.u64 %a0, [p0];"], []
    for n in range(150):
        before = reference.pending
        phase = reference.phase
        body.append(f"mbarrier.arrive.shared.b64 %l1, [b], 0; {_step(reference)}")
        body += [
            "mbarrier.test_wait.shared.b64 %p1, [b], %l1; selp.u32 %r1, 1, 0, %p1;",
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [b], 0, 1000;",
            "selp.u32 %r2, 2, 0, %p2; add.u32 %r1, %r1, %r2;",
            f"mbarrier.pending_count.b64 %r3, %l1; st.global.v2.u32 [%a0+{8 * n}], {{%r1, %r3}};",
        ]
        wanted.append((int(reference.phase > phase) + 2 * (reference.phase % 2), before))
    out = np.zeros((150, 2), np.uint32)
    run(parse(ptx_kernel("\n".join(body), ["u64"], WORD)), "k", 1, 1, [out])
    assert [tuple(row) for row in out.tolist()] == wanted
    assert {flag for flag, _ in wanted} == {0, 1, 2, 3}


def test_lanes_of_a_warp_arrive_one_after_another() -> None:
    body = """setp.ne.u32 %p1, %i, 0;
    @%p1 bra SET;
    mbarrier.init.shared.b64 [b], 32;
SET:
    bar.sync 0;
    mbarrier.arrive.shared.b64 %l1, [b];
    mbarrier.pending_count.b64 %r1, %l1;
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, 4, %a0;
    st.global.u32 [%a0], %r1;"""
    left = np.zeros(WARP_SIZE, np.uint32)
    run(parse(ptx_kernel(body, ["u64"], WORD)), "k", 1, WARP_SIZE, [left])
    assert left.tolist() == list(range(WARP_SIZE, 0, -1))


def test_an_mbarrier_holds_as_many_as_there_are_bits_for() -> None:
    body = f"""mbarrier.init.shared.b64 [b], {MOST};
    mbarrier.arrive.shared.b64 %l1, [b], {MOST};
    mbarrier.test_wait.shared.b64 %p1, [b], %l1;
    ld.param.u64 %a0, [p0]; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%a0], %r1;"""
    out = np.zeros(1, np.uint32)
    run(parse(ptx_kernel(body, ["u64"], WORD)), "k", 1, 1, [out])
    assert out[0] == 1


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("where", ["shared.b64 _, [b]", "b64 _, [%a1]"])
def test_to_arrive_where_nobody_is_waited_for_is_a_fault(checks: bool, where: str) -> None:
    body = f"""ld.param.u64 %a1, [p0]; mbarrier.init.shared.b64 [b], 1;
    mov.u64 %l1, 1; st.global.u64 [%a1], %l1;
    mbarrier.arrive.{where}, 2;"""
    module = parse(ptx_kernel(body, ["u64"], WORD))
    (fault,) = launch(module, "k", 1, 1, [np.zeros(1, np.uint64)], checks=checks).faults
    assert fault.kind == "mbarrier"
    assert fault.message == "more arrivals at an mbarrier than its phase waits for"


def test_bulk_copies_take_hints_for_the_cache_and_ends_in_registers() -> None:
    body = """mbarrier.init.shared.b64 [b], 1; mov.u64 %l1, 0; mov.u32 %r1, 512; mov.u32 %r2, s;
    ld.param.u64 %a0, [p0]; ld.param.u64 %a1, [p1]; mov.u32 %r3, b;
    mbarrier.arrive.expect_tx.shared.b64 _, [b], %r1;
    cp.async.bulk.prefetch.L2.global [%a0], %r1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint
        [%r2+16], [%a0], %r1, [%r3], %l1;
WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0;
    @!%p1 bra WAIT;
    cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%a1], [%r2+32], 496, %l1;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    given, out = RANDOM.integers(0, 255, 512, np.uint8), np.zeros(512, np.uint8)
    declared = WORD + " .shared .align 16 .b8 s[528];"
    run(parse(ptx_kernel(body, ["u64", "u64"], declared)), "k", 1, 1, [given, out])
    assert (out[:496] == given[16:]).all()
    assert not out[496:].any()


@pytest.mark.parametrize("size", [0xFFFFFFF0, 528])
def test_a_bulk_copy_of_more_than_there_is_shared_memory_is_out_of_bounds(size: int) -> None:
    body = f"""ld.param.u64 %a0, [p0];
    cp.async.bulk.global.shared::cta.bulk_group [%a0], [s], {size};"""
    module = parse(ptx_kernel(body, ["u64"], ".shared .align 16 .b8 s[512];"))
    (fault,) = launch(module, "k", 1, 1, [np.zeros(1024, np.uint8)]).faults
    assert fault.kind == "out of bounds"
    assert f"read of {size} bytes at offset 0 of shared memory, which has 512" in fault.message


COPIES = """
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cg = cooperative_groups;

extern "C" __global__ void bulk(const int* x, int* y) {
    __shared__ barrier b;
    __shared__ alignas(128) int s[256];
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(s, x, cuda::aligned_size_t<16>(1024), b);
        token = cuda::device::barrier_arrive_tx(b, 1, 1024);
    } else {
        token = b.arrive();
    }
    b.wait(std::move(token));
    y[threadIdx.x] = s[255 - threadIdx.x];
}

extern "C" __global__ void dropping(int* x, int* y) {
    __shared__ barrier b;
    if (threadIdx.x == 0) init(&b, blockDim.x);
    __syncthreads();
    if (threadIdx.x > 200) {
        b.arrive_and_drop();
        return;
    }
    for (int n = 0; n < 3; n++) b.arrive_and_wait();
    y[threadIdx.x] = x[255 - threadIdx.x];
}

extern "C" __global__ void pipeline(const int* x, int* y) {
    auto block = cg::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int s[2][256];
    auto pipe = cuda::make_pipeline(block, &state);
    for (int n = 0; n < 4; n++) {
        pipe.producer_acquire();
        cuda::memcpy_async(block, s[n & 1], x + n * 256, 1024, pipe);
        pipe.producer_commit();
        pipe.consumer_wait();
        y[n * 256 + threadIdx.x] = s[n & 1][255 - threadIdx.x];
        pipe.consumer_release();
    }
}
"""


def test_the_barriers_and_pipelines_of_cuda_cpp_run(compile_ptx: CompilePtx) -> None:
    module = compile_ptx(COPIES)
    x = RANDOM.integers(0, 1000, 1024, np.int32)
    y = np.zeros_like(x)
    run(module, "bulk", 1, 256, [x, y])
    assert (y[:256] == x[255::-1]).all()
    y[:] = 0
    run(module, "dropping", 1, 256, [x, y])
    assert (y[:201] == x[255:54:-1]).all()
    assert not y[201:].any()
    run(module, "pipeline", 1, 256, [x, y])
    assert (y.reshape(4, 256) == x.reshape(4, 256)[:, ::-1]).all()


def test_a_bulk_copy_counts_no_requests_but_its_sectors(compile_ptx: CompilePtx) -> None:
    x, y = np.zeros(1024, np.int32), np.zeros(1024, np.int32)
    report = run(compile_ptx(COPIES), "bulk", 1, 256, [x, y])
    counters = {counter.name: counter.value for counter in report.counters}
    assert counters["distinct_sectors_read"] == 1024 / 32
    assert counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 0


@pytest.mark.parametrize(
    "instruction",
    ["mbarrier.init.global.b64 [%l1], 1;", "mbarrier.arrive.shared.b64 %l1;",
     "mbarrier.arrive.expect_tx.shared.b64 _, [b];", "mbarrier.frobnicate.shared.b64 [b];",
     "mbarrier.test_wait.weird.shared.b64 %p1, [b], %l1;", "mbarrier.init.shared.b32 [b], 1;",
     "cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [b], [b], 16, [b];",
     "cp.reduce.async.bulk.global.shared::cta.add.u32 [%l1], [b], 16;",
     "cp.async.mbarrier.arrive.shared.b32 [b];", "st.async.shared::cluster.b32 [b], 1, [b];"],
)  # fmt: skip
def test_what_is_no_mbarrier_or_not_known_of_one_is_refused(instruction: str) -> None:
    with pytest.raises(UnknownInstruction, match="kernel k"):
        launch(parse(ptx_kernel(instruction, (), WORD)), "k", 1, 1, [])


def test_a_wait_that_ends_by_a_barrier_of_the_cluster_is_one_of_the_block() -> None:
    body = """ld.param.u64 %a0, [p0];
    mul.lo.u32 %r1, %i, 4; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
    st.shared.u32 [%r2], %i;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r3, s; sub.u32 %r3, %r3, %r1;
    mapa.shared::cluster.u32 %r3, %r3, %cluster_ctarank;
    ld.shared::cluster.u32 %r4, [%r3+252];
    mov.u32 %r5, %clusterid.x; add.u32 %r4, %r4, %r5;
    mad.wide.u32 %a0, %i, 4, %a0; st.global.u32 [%a0], %r4;"""
    out = np.zeros(64, np.uint32)
    run(parse(ptx_kernel(body, ["u64"], ".shared .b32 s[64];")), "k", 1, 64, [out])
    assert out.tolist() == list(range(63, -1, -1))


def test_another_block_of_a_cluster_of_one_is_out_of_bounds() -> None:
    body = """mov.u32 %r1, s; mapa.shared::cluster.u32 %r2, %r1, 1;
    st.shared::cluster.u32 [%r2], 1;"""
    (fault,) = launch(parse(ptx_kernel(body, (), ".shared .b32 s;")), "k", 1, 1, []).faults
    assert (fault.kind, "rank 1 in a cluster of 1" in fault.message) == ("out of bounds", True)
