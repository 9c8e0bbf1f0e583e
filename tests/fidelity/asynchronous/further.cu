// What the other files' launches leave open: requests whose lanes go to several blocks of a
// cluster, multicasts of boxes that are partly outside their tensor, 32 bytes that are sent to
// another block, and the instructions of dependent launches one by one. See probes.cuh.
#include "bulk_copies.cu"
#include "tensor_copies.cu"

PROBE(wait_for_launch) {
#pragma unroll 1
    for (int i = 0; i < a; ++i) asm volatile("griddepcontrol.wait;" ::: "memory");
    tell(out, threadIdx.x);
}

PROBE(launch_dependents) {
#pragma unroll 1
    for (int i = 0; i < a; ++i) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    tell(out, threadIdx.x);
}

// a: bytes from a lane's address to the next lane's, b: the mask of active lanes; the lanes, 2^c at
// a time, go to e blocks in turn, of which the first is d blocks further. f: bytes of shared memory
// that the digest covers.
#define SPREAD                                                                                     \
    const uint32_t rank = (rank_in_cluster() + d + (threadIdx.x >> c) % e) % 4;                    \
    const uint32_t there = in_block(at(tile), rank) + threadIdx.x * a;                             \
    const bool active = b >> (threadIdx.x & 31) & 1;                                               \
    const uint32_t x = threadIdx.x * 77 + blockIdx.x;

#define REQUEST(name, ...)                                                                         \
    CLUSTER_PROBE(4, name) {                                                                       \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        meet_in_cluster();                                                                         \
        SPREAD                                                                                     \
        uint32_t sum = x;                                                                          \
        if (active) asm volatile(__VA_ARGS__ : "memory");                                          \
        meet_in_cluster();                                                                         \
        tell(out, sum + digest(tile, f));                                                          \
    }
REQUEST(load_spread, "ld.shared::cluster.u32 %0, [%1];" : "=r"(sum) : "r"(there))
REQUEST(store_spread, "st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(x))
REQUEST(atom_spread, "atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], 3;"
        : "=r"(sum) : "r"(there))
REQUEST(red_spread, "red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(there), "r"(x))

#define TOLD_SPREAD(name, instruction)                                                             \
    CLUSTER_PROBE(4, name) {                                                                       \
        __shared__ uint64_t barrier;                                                               \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        begin(&barrier, 4 * __popc(b));                                                            \
        meet_in_cluster();                                                                         \
        SPREAD                                                                                     \
        if (active)                                                                                \
            asm volatile(instruction ".shared::cluster.mbarrier::complete_tx::bytes"               \
                         SUFFIX " [%0], %2, [%1];"                                                 \
                         ::"r"(there), "r"(in_block(at(&barrier), rank)), "r"(x) : "memory");      \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, digest(tile, f) + is_late);                                                      \
        meet_in_cluster();                                                                         \
    }
#define SUFFIX ".b32"
TOLD_SPREAD(store_async_spread, "st.async.weak")
#undef SUFFIX
#define SUFFIX ".add.u32"
TOLD_SPREAD(red_async_spread, "red.async.relaxed.cluster")
