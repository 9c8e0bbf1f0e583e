// mbarrier operations, each by itself: are they requests to shared memory, and how many wavefronts
// does each take? See probes.cuh. a: how often, b: the mask of active lanes, c: how many blocks
// further.
#include "probes.cuh"

constexpr int PLACES = 64;  // barriers in shared memory, 8 bytes each

#define BARRIERS uint64_t* const barriers = reinterpret_cast<uint64_t*>(tile);
#define ACTIVE (b >> (threadIdx.x & 31) & 1)
#define MANY 1023

// All of them are set up, for `count` arrivals, by the first thread.
HELPER void set_up(uint64_t* barriers, uint32_t count) {
    if (threadIdx.x == 0)
        for (int i = 0; i < PLACES; ++i) init(barriers + i, count);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
}

// The first thread sets up a barriers.
PROBE(initialise) {
    BARRIERS
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < a; ++i) init(barriers + i, 1);
    }
    tell(out, threadIdx.x);
}

PROBE(invalidate) {
    BARRIERS
    set_up(barriers, 1);
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < a; ++i)
            asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(barriers + i)) : "memory");
    }
    tell(out, threadIdx.x);
}

// The active lanes do it a times, at barriers c apart: at one barrier all of them, or each at its
// own. No phase ends.
#define REPEATED(name, ...)                                                                        \
    PROBE(name) {                                                                                  \
        BARRIERS                                                                                   \
        set_up(barriers, MANY);                                                                    \
        const uint32_t place = at(barriers + (threadIdx.x & 31) * c);                              \
        if (ACTIVE) {                                                                              \
            _Pragma("unroll 1") for (int i = 0; i < a; ++i) asm volatile(__VA_ARGS__ : "memory");  \
        }                                                                                          \
        tell(out, threadIdx.x);                                                                    \
    }
REPEATED(arrive, "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place))
REPEATED(arrive_twice, "mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(place))
REPEATED(arrive_and_drop, "mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(place))
REPEATED(arrive_and_expect, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(place))
REPEATED(expect_only, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;" ::"r"(place))

// The token of an arrival is read.
PROBE(arrive_for_token) {
    BARRIERS
    set_up(barriers, MANY);
    uint64_t token = 0;
    if (ACTIVE)
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(token)
                     : "r"(at(barriers)) : "memory");
    tell(out, token != 0);
}

// Asks for the phase that has not ended, whatever the answer; and, if d is 1, for the one before.
PROBE(test_wait) {
    BARRIERS
    set_up(barriers, MANY);
    uint32_t sum = 0;
    if (ACTIVE) {
#pragma unroll 1
        for (int i = 0; i < a; ++i) sum += is_complete(barriers + (threadIdx.x & 31) * c, d);
    }
    tell(out, sum);
}

// try_wait for the phase before the first, which counts as complete, so that it returns at once.
PROBE(try_wait) {
    BARRIERS
    set_up(barriers, MANY);
    uint32_t sum = 0;
    if (ACTIVE) {
#pragma unroll 1
        for (int i = 0; i < a; ++i) {
            uint32_t done;
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 1;\n"
                         "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(barriers)) : "memory");
            sum += done;
        }
    }
    tell(out, sum);
}

// One thread polls until the others' arrivals and a copy have come: the only kernel here whose
// number of instructions may vary.
PROBE(poll) {
    __shared__ uint64_t barrier;
    begin(&barrier, a);
    if (threadIdx.x == 0) {
        load_bulk(at(tile), in, a, &barrier);
        uint32_t done = 0;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                         "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&barrier)) : "memory");
    }
    __syncthreads();
    tell(out, digest(tile, a));
}

// All lanes of the block arrive, and all ask once, after a meeting: phase after phase.
PROBE(phases) {
    BARRIERS
    set_up(barriers, blockDim.x);
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < a; ++i) {
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(barriers)) : "memory");
        __syncthreads();
        sum = sum * 3 + is_complete(barriers, i & 1);
        __syncthreads();
    }
    tell(out, sum);
}

// Copies of 16 bytes by each lane, which arrive at a barrier when they have come.
PROBE(arrive_with_copies) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"(at(tile + 16 * threadIdx.x)), "l"(in + 16 * threadIdx.x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(&barrier))
                 : "memory");
    const uint32_t is_late = late(&barrier);
    tell(out, digest(tile, 16 * blockDim.x) + is_late);
}

// Arrivals at the barriers of the next block of the cluster.
CLUSTER_PROBE(2, arrive_remotely) {
    BARRIERS
    set_up(barriers, MANY);
    meet_in_cluster();
    const uint32_t next = (rank_in_cluster() + c) % 2;
    const uint32_t place = in_block(at(barriers + (threadIdx.x & 31) * d), next);
    if (ACTIVE) {
#pragma unroll 1
        for (int i = 0; i < a; ++i)
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                         ::"r"(place) : "memory");
    }
    __syncwarp();
    meet_in_cluster();
    tell(out, is_complete(barriers, 0));
}
