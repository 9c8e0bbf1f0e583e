"""Thread block clusters: exchanged data is correct, and unordered accesses are reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator_tools import CompilePtx, ptx_kernel, run

from harness.emulator import LaunchError, LaunchReport, launch, parse
from harness.emulator.results.counters import WAVEFRONTS

HEAD = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ unsigned remote(const void* p, unsigned rank) {
    unsigned r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at(p)), "r"(rank));
    return r;
}
__device__ void init(unsigned long long* b, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void arrive(unsigned long long* b, unsigned rank) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                 ::"r"(remote(b, rank)) : "memory");
}
__device__ void expect(unsigned long long* b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes)
                 : "memory");
}
__device__ void store(const void* p, unsigned rank, int v, unsigned long long* b) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 ::"r"(remote(p, rank)), "r"(v), "r"(remote(b, rank)) : "memory");
}
__device__ void wait(unsigned long long* b, unsigned parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 "
                 "p, [%0], %1; @!p bra AGAIN; }" ::"r"(at(b)), "r"(parity) : "memory");
}
#define SYNC_CLUSTER \\
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
"""
KERNEL = """extern "C" __global__ void __cluster_dims__(4) {name}(const int* in, int* out) {{
    __shared__ int s[64];
    __shared__ unsigned long long b;
    const unsigned t = threadIdx.x, i = blockIdx.x * 64 + t;
    auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), next = (rank + 1) % cluster.num_blocks();
    {body}
}}"""
# Data of a block's neighbour, obtained in several ways.
RIGHT = {
    "a cluster's barrier on both sides": """s[t] = in[i];
    cluster.sync();
    out[i] = cluster.map_shared_rank(s, next)[t];
    cluster.sync();""",
    "a barrier that is arrived at and waited for apart": """s[t] = in[i];
    cluster.barrier_arrive();
    const int mine = in[i] * 0;
    cluster.barrier_wait();
    out[i] = cluster.map_shared_rank(s, next)[t] + mine;
    cluster.barrier_arrive();
    cluster.barrier_wait();""",
    "a relaxed arrival behind a fence": """s[t] = in[i];
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
    out[i] = cluster.map_shared_rank(s, next)[t];
    SYNC_CLUSTER;""",
    "a remote arrival": """if (t == 0) init(&b, 64);
    cluster.sync();
    cluster.map_shared_rank(s, (rank + cluster.num_blocks() - 1) % cluster.num_blocks())[t] = in[i];
    arrive(&b, (rank + cluster.num_blocks() - 1) % cluster.num_blocks());
    wait(&b, 0);
    out[i] = s[t];
    cluster.sync();""",
    "stores that tell an mbarrier": """if (t == 0) init(&b, 1), expect(&b, 256);
    cluster.sync();
    const unsigned before = (rank + cluster.num_blocks() - 1) % cluster.num_blocks();
    store(&s[t], before, in[i], &b);
    wait(&b, 0);
    out[i] = s[t];
    cluster.sync();""",
    "atomics of the cluster": """s[t] = 0;
    cluster.sync();
    const unsigned before = (rank + cluster.num_blocks() - 1) % cluster.num_blocks();
    atomicAdd(&cluster.map_shared_rank(s, before)[t], in[i] - 1000);
    atomicAdd(&cluster.map_shared_rank(s, before)[t], 1000);
    cluster.sync();
    out[i] = s[t];""",
}  # fmt: skip
# Each name begins with the kind of fault; the message contains the text. FAULT marks its lines.
WRONG = {
    "race": ("offset 0", """s[t] = in[i];
    __syncthreads();
    out[i] = cluster.map_shared_rank(s, next)[t];  // FAULT
    cluster.sync();"""),
    "race of a relaxed arrival": ("offset 0", """s[t] = in[i];
    asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
    out[i] = cluster.map_shared_rank(s, next)[t];  // FAULT
    SYNC_CLUSTER;"""),
    "race behind the arrival": ("offset 0", """cluster.barrier_arrive();
    s[t] = in[i];
    cluster.barrier_wait();
    out[i] = cluster.map_shared_rank(s, next)[t];  // FAULT
    cluster.sync();"""),
    "race with the next round": ("offset 0", """for (int n = 0; n < 2; n++) {
        s[t] = in[i] + n;  // FAULT
        cluster.sync();
        out[i] = cluster.map_shared_rank(s, next)[t];
    }
    cluster.sync();"""),
    "race before a store has arrived": ("offset 0", """if (t == 0) init(&b, 1), expect(&b, 256);
    cluster.sync();
    store(&s[t], next, in[i], &b);
    __syncthreads();
    out[i] = s[t];  // FAULT
    wait(&b, 0);
    cluster.sync();"""),
    "cluster: a block leaves": ("leaves the kernel without knowing", """s[t] = in[i];
    cluster.sync();
    out[i] = cluster.map_shared_rank(s, next)[t];  // FAULT"""),
    "cluster: a block has left": ("all of whose threads have left", """if (rank == 1) return;
    __syncthreads();
    if (rank == 0) cluster.map_shared_rank(s, 1)[t] = in[i];  // FAULT
    out[i] = 1;"""),
    "cluster: arrived twice": ("again before it has waited", """cluster.barrier_arrive();
    out[i] = 1;
    cluster.barrier_arrive();  // FAULT
    cluster.barrier_wait();"""),
    "cluster: not arrived": ("without barrier.cluster.arrive", """out[i] = in[i];
    cluster.barrier_wait();  // FAULT"""),
    "out of bounds: rank": ("rank 9 in a cluster of 4", """
    cluster.map_shared_rank(s, 9)[t] = in[i];  // FAULT
    cluster.sync();"""),
    "out of bounds: offset": ("at offset 260", """
    if (t > 0) cluster.map_shared_rank(s, next)[t + 64] = in[i];  // FAULT
    cluster.sync();"""),
    "uninitialised": ("of `s` in shared memory, which nothing has written", """cluster.sync();
    out[i] = cluster.map_shared_rank(s, next)[t];  // FAULT
    cluster.sync();"""),
    "deadlock in a wait": ("0 of 2 threads have arrived", """if (t == 0) init(&b, 2);
    cluster.sync();
    if (t == 0 && rank > 0) arrive(&b, 0);
    if (rank == 1) wait(&b, 0);  // FAULT
    out[i] = 1;
    cluster.sync();"""),
}  # fmt: skip


BODIES = {**RIGHT, **{name: body for name, (_, body) in WRONG.items()}}
KERNELS = {name: f"k{number}" for number, name in enumerate(BODIES)}
SOURCE = HEAD + "\n".join(
    KERNEL.format(name=KERNELS[name], body=body) for name, body in BODIES.items()
)
"""All kernels in one source, which is compiled once."""


def marked_lines(name: str) -> list[int]:
    """The lines of SOURCE that are marked FAULT in this kernel."""
    kernel = KERNEL.format(name=KERNELS[name], body=BODIES[name])
    first = SOURCE[: SOURCE.index(kernel)].count("\n") + 1
    return [n for n, line in enumerate(kernel.splitlines(), first) if "// FAULT" in line]


def _launched(compile_ptx: CompilePtx, name: str, **more: Any) -> tuple[
    LaunchReport, np.ndarray, np.ndarray
]:  # fmt: skip
    values, out = np.arange(512, dtype=np.int32) + 1, np.zeros(512, np.int32)
    report = launch(compile_ptx(SOURCE), KERNELS[name], 8, 64, [values, out], **more)
    return report, values, out


@pytest.mark.parametrize("name", RIGHT)
def test_blocks_of_a_cluster_read_each_others_shared_memory(
    compile_ptx: CompilePtx, name: str
) -> None:
    for chunk_threads in (65536, 1):  # a cluster always stays together
        report, values, out = _launched(compile_ptx, name, chunk_threads=chunk_threads)
        assert not report.faults, str(report.faults[0])
        rolled = np.roll(values.reshape(2, 4, 64), -1, axis=1)
        np.testing.assert_array_equal(out, rolled.ravel())


@pytest.mark.parametrize("name", WRONG)
def test_what_nothing_orders_in_a_cluster_is_accused(compile_ptx: CompilePtx, name: str) -> None:
    words, _ = WRONG[name]
    report, _, _ = _launched(compile_ptx, name)
    (fault,) = report.faults
    assert name.startswith(fault.kind), str(fault)
    lines = marked_lines(name)
    inlined = any(f"called in line {line}" in fault.message for line in lines)
    assert fault.line in lines or inlined, str(fault)
    assert words in fault.message, str(fault)


@pytest.mark.parametrize("cluster", [(2, 1, 1), (2, 2, 1), (1, 2, 2), (4, 1, 4), (1, 1, 1)])
def test_special_registers_say_where_a_block_is(cluster: tuple[int, int, int]) -> None:
    names = [f"{name}.{axis}" for name in ("ctaid", "clusterid", "nclusterid", "cluster_ctaid",
                                           "cluster_nctaid") for axis in "xyz"]  # fmt: skip
    names += ["cluster_ctarank", "cluster_nctarank"]
    body = [
        "ld.param.u64 %a0, [p0];",
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y;",
        "mov.u32 %r3, %ctaid.z;",
        "mad.lo.u32 %r2, %r3, 4, %r2; mad.lo.u32 %r1, %r2, 4, %r1;",
        "mad.wide.u32 %a0, %r1, 80, %a0;",
        "mov.u32 %r4, 0; mapa.shared::cluster.u32 %r4, %r4, 0;",
        "getctarank.shared::cluster.u32 %r5, %r4; st.global.u32 [%a0+72], %r5;",
        "mov.u32 %r4, 8; getctarank.shared::cluster.u32 %r5, %r4; st.global.u32 [%a0+76], %r5;",
        "mov.pred %p1, %is_explicit_cluster; selp.u32 %r6, 1, 0, %p1; st.global.u32 [%a0+68], %r6;",
    ]
    body += [f"mov.u32 %r1, %{n}; st.global.u32 [%a0+{4 * at}], %r1;" for at, n in enumerate(names)]
    out = np.zeros((64, 20), np.uint32)
    module = parse(ptx_kernel("\n".join(body), ["u64"]))
    run(module, "k", (4, 4, 4), 1, [out], cluster=cluster)
    for number, row in enumerate(out.tolist()):
        at = number % 4, number // 4 % 4, number // 16
        inside = tuple(a % c for a, c in zip(at, cluster, strict=True))
        rank = inside[0] + cluster[0] * (inside[1] + cluster[1] * inside[2])
        blocks = int(np.prod(cluster))
        wanted = [
            *at,
            *(a // c for a, c in zip(at, cluster, strict=True)),
            *(4 // c for c in cluster),
            *inside,
            *cluster,
            rank,
            blocks,
            blocks > 1,
            0,
            rank,
        ]
        assert row == wanted


def test_sixteen_blocks_in_two_dimensions_meet(compile_ptx: CompilePtx) -> None:
    source = (
        HEAD
        + """extern "C" __global__ void k(int* out) {
    __shared__ int s;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0) s = blockIdx.x + 100 * blockIdx.y;
    cluster.sync();
    const unsigned rank = threadIdx.x % 16;
    int other = *cluster.map_shared_rank(&s, rank);
    if (threadIdx.x < 16) out[(blockIdx.y * 8 + blockIdx.x) * 16 + rank] = other;
    cluster.sync();
}"""
    )
    out = np.zeros((8, 8, 16), np.int32)
    run(compile_ptx(source, "sm_90"), "k", (8, 8), 32, [out], cluster=(8, 2))
    for y in range(8):
        wanted = [x + 100 * (y // 2 * 2 + more) for more in (0, 1) for x in range(8)]
        assert (out[y] == wanted).all()


def test_requests_to_another_block_are_not_counted_as_if_their_cost_were_known(
    compile_ptx: CompilePtx,
) -> None:
    report, _, _ = _launched(compile_ptx, "a cluster's barrier on both sides")
    reason = report.uncounted[WAVEFRONTS]
    assert "another block's shared memory" in reason


def test_a_cluster_that_cannot_be_is_refused(compile_ptx: CompilePtx) -> None:
    for asked, arch, words in (
        (3, "sm_90", "no multiple of its cluster"), (32, "sm_90", "from 1 to 16"),
        ((4, 4, 2), "sm_90", "has 32 blocks; kernel `k` may have 16"),
        (2, "sm_80", "sm_80 has none"),
    ):  # fmt: skip
        text = ptx_kernel("").replace("sm_90", arch)
        with pytest.raises(LaunchError, match=words):
            launch(parse(text), "k", (4, 4, 4), 32, [], cluster=asked, arch=arch)
    with pytest.raises(LaunchError, match=r"compiled for clusters of \(4, 1, 1\) blocks"):
        _launched(compile_ptx, "atomics of the cluster", cluster=2)
    explicit = ptx_kernel("").replace(")\n{", ")\n.explicitcluster\n{")
    with pytest.raises(LaunchError, match="is to be launched with a cluster"):
        launch(parse(explicit), "k", 4, 32, [])
    most = ptx_kernel("").replace(")\n{", ")\n.maxclusterrank 2\n{")
    with pytest.raises(LaunchError, match="has 4 blocks; kernel `k` may have 2"):
        launch(parse(most), "k", 4, 32, [], cluster=4)
