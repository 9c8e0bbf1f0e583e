// Copies and reductions of contiguous bytes: cp.async.bulk without a tensor map. See probes.cuh.
#include "probes.cuh"

// a: bytes of a copy, b: offset in the source, c: copies, d: offset in shared memory. A block reads
// what follows the block before.
PROBE(load) {
    __shared__ uint64_t barrier;
    begin(&barrier, a * c);
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < c; ++i)
            load_bulk(at(tile + d + i * a), in + b + (blockIdx.x * c + i) * a, a, &barrier);
    }
    const uint32_t is_late = late(&barrier);
    tell(out, digest(tile + d, a * c) + is_late);
}

// Every lane of a warp requests its own copy. a: bytes, b: distance between sources.
PROBE(load_by_lanes) {
    __shared__ uint64_t barrier;
    begin(&barrier, 32 * a);
    load_bulk(at(tile + threadIdx.x * a), in + threadIdx.x * b, a, &barrier);
    const uint32_t is_late = late(&barrier);
    tell(out, digest(tile, 32 * a) + is_late);
}

// a: bytes of a copy, b: offset in the destination, c: copies, d: offset in shared memory.
PROBE(store) {
    fetch(tile + d, in, a * c);
    show_to_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < c; ++i)
            store_bulk(out + b + (blockIdx.x * c + i) * a, tile + d + i * a, a);
        end_of_copies();
    }
}

// Only shared memory is read when the thread goes on; parameters as of `store`.
PROBE(store_read) {
    fetch(tile + d, in, a * c);
    show_to_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_bulk(out + b, tile + d, a);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

// Parameters as of `store`; e: how far apart the destinations of two blocks are.
#define REDUCE(name, operation)                                                                    \
    PROBE(reduce_##name) {                                                                         \
        fetch(tile + d, in, a* c);                                                                 \
        show_to_copies();                                                                          \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0) {                                                                    \
            _Pragma("unroll 1") for (int i = 0; i < c; ++i)                                        \
                REDUCE_BULK(operation, out + b + blockIdx.x * e + i * a, tile + d + i * a, a);     \
            end_of_copies();                                                                       \
        }                                                                                          \
    }
REDUCE(add_u32, "add.u32")
REDUCE(add_u64, "add.u64")
REDUCE(min_s32, "min.s32")
REDUCE(and_b32, "and.b32")
REDUCE(add_f32, "add.f32")
REDUCE(add_f64, "add.f64")
REDUCE(add_bf16, "add.noftz.bf16")

// a: bytes, b: offset in the source, c: copies. Nothing comes back.
PROBE(prefetch) {
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < c; ++i)
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + b + i * a), "r"(a)
                         : "memory");
    }
    tell(out, threadIdx.x);
}

// Into the next block of the cluster, or, with e = 0, into the block's own shared memory. a: bytes,
// b: offset in the source, c: copies, d: offset in the destination, which is 16 KiB further.
#define SEND(blocks)                                                                               \
    CLUSTER_PROBE(blocks, send_##blocks) {                                                         \
        __shared__ uint64_t barrier;                                                               \
        fetch(tile + b, in + blockIdx.x * 64, a* c);                                               \
        begin(&barrier, a* c);                                                                     \
        meet_in_cluster();                                                                         \
        const uint32_t next = (rank_in_cluster() + e) % blocks;                                    \
        if (threadIdx.x == 0) {                                                                    \
            _Pragma("unroll 1") for (int i = 0; i < c; ++i)                                        \
                send_bulk(in_block(at(tile + 16384 + d + i * a), next), tile + b + i * a, a,       \
                          in_block(at(&barrier), next));                                           \
        }                                                                                          \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, digest(tile + 16384 + d, a * c) + is_late);                                      \
        meet_in_cluster();                                                                         \
    }
SEND(2)
SEND(4)

// Reductions in the next block's shared memory; parameters as of SEND.
#define SEND_REDUCED(name, operation)                                                              \
    CLUSTER_PROBE(2, send_##name) {                                                                \
        __shared__ uint64_t barrier;                                                               \
        fetch(tile + b, in + blockIdx.x * 64, a* c);                                               \
        fetch(tile + 16384 + d, in + 4096, a);                                                     \
        begin(&barrier, a* c);                                                                     \
        meet_in_cluster();                                                                         \
        const uint32_t next = (rank_in_cluster() + e) % 2;                                         \
        if (threadIdx.x == 0) {                                                                    \
            _Pragma("unroll 1") for (int i = 0; i < c; ++i)                                        \
                SEND_REDUCTION(operation, in_block(at(tile + 16384 + d), next), tile + b + i * a,  \
                               a, in_block(at(&barrier), next));                                   \
        }                                                                                          \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, digest(tile + 16384 + d, a) + is_late);                                          \
        meet_in_cluster();                                                                         \
    }
SEND_REDUCED(add_u32, "add.u32")
SEND_REDUCED(max_s32, "max.s32")
SEND_REDUCED(add_u64, "add.u64")

// The first block of a cluster sends to those whose bits are set in e. Parameters as of `load`.
#define MULTICAST(blocks)                                                                          \
    CLUSTER_PROBE(blocks, multicast_##blocks) {                                                    \
        __shared__ uint64_t barrier;                                                               \
        const uint32_t rank = rank_in_cluster(), comes = e >> rank & 1;                            \
        begin(&barrier, comes ? a * c : 0);                                                        \
        meet_in_cluster();                                                                         \
        if (threadIdx.x == 0 && rank == 0) {                                                       \
            _Pragma("unroll 1") for (int i = 0; i < c; ++i)                                        \
                load_bulk_to(e, at(tile + d + i * a), in + b + i * a, a, &barrier);                \
        }                                                                                          \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, (comes ? digest(tile + d, a * c) : rank) + is_late);                             \
        meet_in_cluster();                                                                         \
    }
MULTICAST(1)
MULTICAST(2)
MULTICAST(4)
MULTICAST(8)
