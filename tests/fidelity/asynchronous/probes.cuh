// Shared by these kernels: each executes one kind of Hopper's asynchronous instructions, so that a
// GPU's counters show what it costs. Whatever surrounds it (stores that fill shared memory, loads
// that digest it) costs what tests/fidelity's other kernels have settled.
//
// Nothing here polls, because a number of polls that varies would vary the counts: a thread sleeps
// for longer than any of these copies takes, and asks an mbarrier once. A late copy changes the
// digest. A kernel gets `in`, `out` and six numbers, whose meaning its comment says, and writes one
// word a thread, the digest of what it received, to `out`, unless the copy itself goes there.
#pragma once

#include <cuda.h>

#include <cstdint>

#define NUMBERS int a, int b, int c, int d, int e, int f
#define ARRAYS const unsigned char *in, unsigned char *out
#define PROBE(name) extern "C" __global__ void name(ARRAYS, NUMBERS)
#define CLUSTER_PROBE(blocks, name)                                                                \
    extern "C" __global__ void __cluster_dims__(blocks) name(ARRAYS, NUMBERS)
#define MAP_PROBE(name)                                                                            \
    extern "C" __global__ void name(const __grid_constant__ CUtensorMap map, ARRAYS, NUMBERS)
#define MAP_CLUSTER_PROBE(blocks, name)                                                            \
    extern "C" __global__ void __cluster_dims__(blocks)                                            \
        name(const __grid_constant__ CUtensorMap map, ARRAYS, NUMBERS)

extern __shared__ __align__(1024) unsigned char tile[];

#define HELPER __device__ __forceinline__

HELPER uint32_t at(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

HELPER uint32_t rank_in_cluster() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

HELPER uint32_t blocks_in_cluster() {
    uint32_t blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}

// The same place in the shared memory of another block.
HELPER uint32_t in_block(uint32_t shared, uint32_t rank) {
    uint32_t there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared), "r"(rank));
    return there;
}

HELPER void meet_in_cluster() {
    __syncwarp();  // the lanes of a warp arrive as one
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

HELPER void show_to_copies() { asm volatile("fence.proxy.async;" ::: "memory"); }

// An mbarrier that `arrivals` threads arrive at.
HELPER void init(uint64_t* barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(arrivals)
                 : "memory");
}

HELPER void expect(uint64_t* barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)),
                 "r"(bytes)
                 : "memory");
}

// One thread sets a barrier up and announces the bytes that will come to this block.
HELPER void begin(uint64_t* barrier, uint32_t bytes) {
    if (threadIdx.x == 0) {
        init(barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(barrier, bytes);
    }
    show_to_copies();
    __syncthreads();
}

HELPER uint32_t is_complete(uint64_t* barrier, uint32_t parity) {
    uint32_t done;
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done) : "r"(at(barrier)), "r"(parity) : "memory");
    return done;
}

// 160 microseconds or so: a copy takes a few.
HELPER void sleep() {
    __nanosleep(40000);
    __nanosleep(40000);
    __nanosleep(40000);
    __nanosleep(40000);
}

// Returns 0 if the barrier's first phase has ended, so all copies to this block have come. All
// threads call it, after the one that requests the copies has done so.
HELPER uint32_t late(uint64_t* barrier) {
    __syncthreads();
    sleep();
    return is_complete(barrier, 0) ? 0 : 0x1A7E;
}

// The same for copies that other blocks of the cluster request.
HELPER uint32_t late_in_cluster(uint64_t* barrier) {
    meet_in_cluster();
    sleep();
    return is_complete(barrier, 0) ? 0 : 0x1A7E;
}

// Shared memory from `in`, word by word.
HELPER void fetch(unsigned char* to, const unsigned char* in, int bytes) {
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        reinterpret_cast<uint32_t*>(to)[i] = reinterpret_cast<const uint32_t*>(in)[i];
}

HELPER uint32_t digest(const unsigned char* from, int bytes) {
    uint32_t sum = threadIdx.x;
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        sum = sum * 31 + reinterpret_cast<const uint32_t*>(from)[i];
    return sum;
}

// A word for each thread of the grid.
HELPER void tell(unsigned char* out, uint32_t word) {
    reinterpret_cast<uint32_t*>(out)[blockIdx.x * blockDim.x + threadIdx.x] = word;
}

HELPER void end_of_copies() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Copies of contiguous bytes.
HELPER void load_bulk(uint32_t to, const void* from, uint32_t bytes, uint64_t* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(at(barrier)) : "memory");
}

HELPER void store_bulk(void* to, const void* from, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(at(from)), "r"(bytes) : "memory");
}

HELPER void load_bulk_to(uint32_t blocks, uint32_t to, const void* from, uint32_t bytes,
                         uint64_t* barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(at(barrier)),
                   "h"(static_cast<uint16_t>(blocks)) : "memory");
}

// To the shared memory of a block, whose barrier is told.
HELPER void send_bulk(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 ::"r"(to), "r"(at(from)), "r"(bytes), "r"(barrier) : "memory");
}

#define REDUCE_BULK(operation, to, from, bytes)                                                    \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation                   \
                 " [%0], [%1], %2;"                                                                \
                 ::"l"(to), "r"(at(from)), "r"(bytes) : "memory")
#define SEND_REDUCTION(operation, to, from, bytes, barrier)                                        \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."  \
                 operation " [%0], [%1], %2, [%3];"                                                \
                 ::"r"(to), "r"(at(from)), "r"(bytes), "r"(barrier) : "memory")

// A factor of a warpgroup's product: the byte offsets and the swizzle as the PTX manual has them.
HELPER uint64_t describe(const unsigned char* factor, int leading, int stride, int swizzle) {
    return (at(factor) & 0x3FFFF) >> 4 | static_cast<uint64_t>(leading >> 4) << 16 |
           static_cast<uint64_t>(stride >> 4) << 32 | static_cast<uint64_t>(swizzle) << 62;
}
