// Copies of boxes through tensor maps: cp.async.bulk.tensor, all of them by the first thread. See
// probes.cuh. a, b, c, d, e are the box's coordinates, innermost first, and f is the bytes of a
// box. The map is of `in` for loads and of `out` for what goes back.
#include "probes.cuh"

#define AT_1 "{%2}"
#define AT_2 "{%2, %3}"
#define AT_3 "{%2, %3, %4}"
#define AT_4 "{%2, %3, %4, %5}"
#define AT_5 "{%2, %3, %4, %5, %6}"
#define GIVEN "r"(at(tile)), "l"(&map), "r"(a), "r"(b), "r"(c), "r"(d), "r"(e)

#define LOAD_BOX(name, rank, mode, offsets, filled)                                                \
    MAP_PROBE(name) {                                                                              \
        __shared__ uint64_t barrier;                                                               \
        fetch(tile, in, filled);                                                                   \
        begin(&barrier, f);                                                                        \
        if (threadIdx.x == 0)                                                                      \
            asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global." mode            \
                         ".mbarrier::complete_tx::bytes [%0], [%1, " AT_##rank "], [%7]" offsets   \
                         ";" ::GIVEN, "r"(at(&barrier)), "h"(one), "h"(two) : "memory");           \
        const uint32_t is_late = late(&barrier);                                                   \
        tell(out, digest(tile, filled ? filled : f) + is_late);                                    \
    }
constexpr uint16_t one = 1, two = 2;  // im2col's offsets
LOAD_BOX(load_1, 1, "tile", "", 0)
LOAD_BOX(load_2, 2, "tile", "", 0)
LOAD_BOX(load_short_rows, 2, "tile", "", 8192)  // between which the swizzle leaves gaps
LOAD_BOX(load_3, 3, "tile", "", 0)
LOAD_BOX(load_4, 4, "tile", "", 0)
LOAD_BOX(load_5, 5, "tile", "", 0)
LOAD_BOX(load_pixels_3, 3, "im2col", ", {%8}", 0)
LOAD_BOX(load_pixels_4, 4, "im2col", ", {%8, %9}", 0)
LOAD_BOX(load_pixels_5, 5, "im2col", ", {%8, %9, %8}", 0)

// Several boxes of two dimensions by each block, d rows apart. c: boxes of a block.
MAP_PROBE(load_several) {
    __shared__ uint64_t barrier;
    begin(&barrier, c * f);
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < c; ++i)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                         ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                         ::"r"(at(tile + i * f)), "l"(&map), "r"(a),
                           "r"(b + static_cast<int>(blockIdx.x * c + i) * d), "r"(at(&barrier))
                         : "memory");
    }
    const uint32_t is_late = late(&barrier);
    tell(out, digest(tile, c * f) + is_late);
}

#define STORE_BOX(name, rank, instruction)                                                         \
    MAP_PROBE(name) {                                                                              \
        fetch(tile, in, f);                                                                        \
        show_to_copies();                                                                          \
        __syncthreads();                                                                           \
        if (threadIdx.x == 0) {                                                                    \
            asm volatile(instruction ".bulk_group [%1, " AT_##rank "], [%0];" ::GIVEN : "memory"); \
            end_of_copies();                                                                       \
        }                                                                                          \
        tell(out, threadIdx.x);                                                                    \
    }
#define COPY(rank) "cp.async.bulk.tensor." #rank "d.global.shared::cta.tile"
#define REDUCTION(rank, operation)                                                                 \
    "cp.reduce.async.bulk.tensor." #rank "d.global.shared::cta." operation ".tile"
STORE_BOX(store_1, 1, COPY(1))
STORE_BOX(store_2, 2, COPY(2))
STORE_BOX(store_3, 3, COPY(3))
STORE_BOX(store_4, 4, COPY(4))
STORE_BOX(store_5, 5, COPY(5))
STORE_BOX(store_pixels_4, 4, "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs")
STORE_BOX(add_1, 1, REDUCTION(1, "add"))
STORE_BOX(add_2, 2, REDUCTION(2, "add"))
STORE_BOX(add_3, 3, REDUCTION(3, "add"))
STORE_BOX(max_2, 2, REDUCTION(2, "max"))
STORE_BOX(xor_2, 2, REDUCTION(2, "xor"))

#define PREFETCH_BOX(rank)                                                                         \
    MAP_PROBE(prefetch_##rank) {                                                                   \
        if (threadIdx.x == 0)                                                                      \
            asm volatile("cp.async.bulk.prefetch.tensor." #rank "d.L2.global.tile [%1, " AT_##rank \
                         "];" ::GIVEN : "memory");                                                 \
        tell(out, threadIdx.x);                                                                    \
    }
PREFETCH_BOX(1)
PREFETCH_BOX(2)
PREFETCH_BOX(3)

// The map itself.
MAP_PROBE(prefetch_map) {
    if (threadIdx.x == 0) asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    tell(out, threadIdx.x);
}

// The first block of a cluster sends a box of two dimensions to those whose bits are set in c.
#define MULTICAST_BOX(blocks)                                                                      \
    MAP_CLUSTER_PROBE(blocks, multicast_box_##blocks) {                                            \
        __shared__ uint64_t barrier;                                                               \
        const uint32_t rank = rank_in_cluster(), comes = c >> rank & 1;                            \
        begin(&barrier, comes ? f : 0);                                                            \
        meet_in_cluster();                                                                         \
        if (threadIdx.x == 0 && rank == 0)                                                         \
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"                     \
                         ".mbarrier::complete_tx::bytes.multicast::cluster "                       \
                         "[%0], [%1, {%2, %3}], [%4], %5;"                                         \
                         ::"r"(at(tile)), "l"(&map), "r"(a), "r"(b), "r"(at(&barrier)),            \
                           "h"(static_cast<uint16_t>(c)) : "memory");                              \
        const uint32_t is_late = late_in_cluster(&barrier);                                        \
        tell(out, (comes ? digest(tile, f) : rank) + is_late);                                     \
        meet_in_cluster();                                                                         \
    }
MULTICAST_BOX(1)
MULTICAST_BOX(2)
MULTICAST_BOX(4)
MULTICAST_BOX(8)
