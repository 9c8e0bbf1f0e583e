// Distributed shared memory: loads, stores and atomics in another block of a cluster, or, with
// c = 0, in the block itself. See probes.cuh. a: bytes from a lane's address to the next lane's,
// b: the mask of active lanes, c: how many blocks further, d: the first lane's offset, e: how often
// each lane does it, f: bytes of shared memory that the digest covers.
#include "probes.cuh"

#define PLACE                                                                                      \
    const uint32_t blocks = blocks_in_cluster();                                                   \
    const uint32_t there = in_block(at(tile), (rank_in_cluster() + c) % blocks) + d +              \
                           threadIdx.x * a;                                                        \
    const bool active = b >> (threadIdx.x & 31) & 1;

#define LOAD(blocks_, name, instruction, constraint, type)                                         \
    CLUSTER_PROBE(blocks_, load_##name) {                                                          \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        meet_in_cluster();                                                                         \
        PLACE                                                                                      \
        uint32_t sum = 0;                                                                          \
        if (active) {                                                                              \
            _Pragma("unroll 1") for (int i = 0; i < e; ++i) {                                      \
                type word;                                                                         \
                asm volatile("ld.shared::cluster." instruction " %0, [%1];"                        \
                             : constraint(word) : "r"(there) : "memory");                          \
                sum = sum * 31 + static_cast<uint32_t>(word);                                      \
            }                                                                                      \
        }                                                                                          \
        tell(out, sum);                                                                            \
        meet_in_cluster();                                                                         \
    }
LOAD(2, 8, "u8", "=h", uint16_t)
LOAD(2, 16, "u16", "=h", uint16_t)
LOAD(2, 32, "u32", "=r", uint32_t)
LOAD(4, 32_of_4, "u32", "=r", uint32_t)
LOAD(2, 64, "u64", "=l", uint64_t)

CLUSTER_PROBE(2, load_128) {
    fetch(tile, in + blockIdx.x * 64, f);
    meet_in_cluster();
    PLACE
    uint32_t x = 0, y = 0, z = 0, w = 0;
    if (active)
        asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(there) : "memory");
    tell(out, x + 3 * y + 5 * z + 7 * w);
    meet_in_cluster();
}

// The same by an ordinary pointer, of which only the hardware knows where it leads.
CLUSTER_PROBE(2, load_generic) {
    fetch(tile, in + blockIdx.x * 64, f);
    meet_in_cluster();
    PLACE
    uint64_t address;
    asm volatile("{ .reg .u64 wide;\ncvt.u64.u32 wide, %1;\ncvta.shared::cluster.u64 %0, wide; }"
                 : "=l"(address) : "r"(there));
    uint32_t word = 0;
    if (active)
        asm volatile("ld.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
    tell(out, word);
    meet_in_cluster();
}

// Stores that do not overlap. The digest is of this block's memory, after the others are done.
#define STORE(blocks_, name, instruction, constraint, type)                                        \
    CLUSTER_PROBE(blocks_, store_##name) {                                                         \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        meet_in_cluster();                                                                         \
        PLACE                                                                                      \
        const type word = static_cast<type>(threadIdx.x * 77 + blockIdx.x);                        \
        if (active) {                                                                              \
            _Pragma("unroll 1") for (int i = 0; i < e; ++i)                                        \
                asm volatile("st.shared::cluster." instruction " [%0], %1;"                        \
                             ::"r"(there), constraint(word) : "memory");                           \
        }                                                                                          \
        meet_in_cluster();                                                                         \
        tell(out, digest(tile, f));                                                                \
    }
STORE(2, 8, "u8", "h", uint16_t)
STORE(2, 16, "u16", "h", uint16_t)
STORE(2, 32, "u32", "r", uint32_t)
STORE(4, 32_of_4, "u32", "r", uint32_t)
STORE(2, 64, "u64", "l", uint64_t)

CLUSTER_PROBE(2, store_128) {
    fetch(tile, in + blockIdx.x * 64, f);
    meet_in_cluster();
    PLACE
    if (active)
        asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %1, %2};"
                     ::"r"(there), "r"(threadIdx.x), "r"(blockIdx.x) : "memory");
    meet_in_cluster();
    tell(out, digest(tile, f));
}

// Atomics, whose lanes collide if a is less than a word.
#define ATOMIC(name, instruction, constraint, type)                                                \
    CLUSTER_PROBE(2, name) {                                                                       \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        meet_in_cluster();                                                                         \
        PLACE                                                                                      \
        const type word = threadIdx.x + 1;                                                         \
        if (active) {                                                                              \
            _Pragma("unroll 1") for (int i = 0; i < e; ++i) {                                      \
                instruction;                                                                       \
            }                                                                                      \
        }                                                                                          \
        meet_in_cluster();                                                                         \
        tell(out, digest(tile, f));                                                                \
    }
#define ATOM(name, operation, constraint, type)                                                    \
    ATOMIC(atom_##name, type old; asm volatile("atom.relaxed.cluster.shared::cluster." operation   \
           " %0, [%1], %2;" : "=" constraint(old) : "r"(there), constraint(word) : "memory"),      \
           constraint, type)
#define RED(name, operation, constraint, type)                                                     \
    ATOMIC(red_##name, asm volatile("red.relaxed.cluster.shared::cluster." operation " [%0], %1;"  \
           ::"r"(there), constraint(word) : "memory"), constraint, type)
ATOM(add_u32, "add.u32", "r", uint32_t)
ATOM(max_u32, "max.u32", "r", uint32_t)
ATOM(add_u64, "add.u64", "l", uint64_t)
RED(add_u32, "add.u32", "r", uint32_t)
RED(xor_b32, "xor.b32", "r", uint32_t)
RED(add_u64, "add.u64", "l", uint64_t)

// Each lane compares with a value that nobody stores, so none of them changes anything.
CLUSTER_PROBE(2, compare_and_swap) {
    fetch(tile, in + blockIdx.x * 64, f);
    meet_in_cluster();
    PLACE
    uint32_t old = 0;
    if (active)
        asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], %2, %3;"
                     : "=r"(old) : "r"(there), "r"(0xFFFFFFF0), "r"(1) : "memory");
    tell(out, old);
    meet_in_cluster();
}

// Stores and reductions that tell the other block's barrier of their bytes. SIZE: bytes of a lane.
#define TOLD(name, SIZE, ...)                                                                      \
    CLUSTER_PROBE(2, name) {                                                                       \
        __shared__ uint64_t barrier;                                                               \
        fetch(tile, in + blockIdx.x * 64, f);                                                      \
        begin(&barrier, SIZE * e * blockDim.x / 32 * __popc(b));                                   \
        meet_in_cluster();                                                                         \
        PLACE                                                                                      \
        const uint32_t done = in_block(at(&barrier), (rank_in_cluster() + c) % blocks);            \
        const uint32_t x = threadIdx.x + 1;                                                        \
        const uint64_t xx = x;                                                                     \
        if (active) {                                                                              \
            _Pragma("unroll 1") for (int i = 0; i < e; ++i)                                        \
                asm volatile(__VA_ARGS__ : "memory");                                              \
        }                                                                                          \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, digest(tile, f) + is_late);                                                      \
        meet_in_cluster();                                                                         \
    }
#define TELLS "shared::cluster.mbarrier::complete_tx::bytes."
TOLD(store_async_32, 4, "st.async.weak." TELLS "b32 [%0], %2, [%1];" ::"r"(there), "r"(done),
     "r"(x))
TOLD(store_async_64, 8, "st.async.weak." TELLS "b64 [%0], %2, [%1];" ::"r"(there), "r"(done),
     "l"(xx))
TOLD(store_async_128, 16, "st.async.weak." TELLS "v4.b32 [%0], {%2, %3, %2, %3}, [%1];"
     ::"r"(there), "r"(done), "r"(x), "r"(blockIdx.x))
TOLD(red_async_add, 4, "red.async.relaxed.cluster." TELLS "add.u32 [%0], %2, [%1];"
     ::"r"(there), "r"(done), "r"(x))
TOLD(red_async_xor, 4, "red.async.relaxed.cluster." TELLS "xor.b32 [%0], %2, [%1];"
     ::"r"(there), "r"(done), "r"(x))
TOLD(red_async_add_u64, 8, "red.async.relaxed.cluster." TELLS "add.u64 [%0], %2, [%1];"
     ::"r"(there), "r"(done), "l"(xx))

// Only the address, and only the meeting, e times.
CLUSTER_PROBE(2, mapa) {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < e; ++i) sum += in_block(at(tile) + i, (rank_in_cluster() + i) % 2) != 0;
    tell(out, sum);
}

CLUSTER_PROBE(2, meet) {
#pragma unroll 1
    for (int i = 0; i < e; ++i) meet_in_cluster();
    tell(out, threadIdx.x);
}
