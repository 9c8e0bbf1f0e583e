// A warpgroup's work on its 64 queries, with products of tiles in shared memory: for v5 to v9. The
// tiles' rows have D 16-bit numbers, in boxes of 64; those past D are zeros.
//
// Thread 4 g + t of warp w has the sums of rows 16 w + g and 16 w + g + 8, in columns 8 j + 2 t and
// 8 j + 2 t + 1, as sums[4 j] .. sums[4 j + 3]. A product takes its first factor from registers in
// the same positions, so scores become weights in place.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

#include "attention/fragments.cuh"
#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"

constexpr unsigned int KEYS = 128;  // of a tile

// ROWS rows of D numbers; a box has 64 of each.
template <unsigned int D, unsigned int ROWS>
struct Boxes {
    static constexpr unsigned int COUNT = (D + 63) / 64;
    unsigned char box[COUNT][ROWS * 128];

    __device__ __forceinline__ void load(const CUtensorMap& map, unsigned int head,
                                         unsigned int row, Barrier& present) {
        present.arrive_and_expect(sizeof box);
        for (unsigned int i = 0; i < COUNT; i++) load_tile(box[i], map, head, row, 64 * i, present);
    }
};

// A block's shared memory: its queries, and slots for tiles of k and v.
template <unsigned int D, unsigned int QUERIES, unsigned int STAGES>
struct Tiles {
    Boxes<D, QUERIES> queries;
    Boxes<D, KEYS> keys[STAGES], values[STAGES];
    Barrier queries_present;
    Barrier keys_present[STAGES];
    Barrier values_present[STAGES];
    Barrier free[STAGES];

    // Called by one thread; a barrier of the block must follow.
    __device__ __forceinline__ void init() {
        queries_present.init(1);
        for (unsigned int i = 0; i < STAGES; i++) {
            keys_present[i].init(1);
            values_present[i].init(1);
            free[i].init(QUERIES / 64);
        }
        show_barriers();
    }

    // Requests the queries from `first` on, and `count` keys and values of a head; one thread.
    __device__ __forceinline__ void produce(const CUtensorMap& map_q, const CUtensorMap& map_k,
                                            const CUtensorMap& map_v, unsigned int head,
                                            unsigned int first, unsigned int count) {
        queries.load(map_q, head, first, queries_present);
        for (unsigned int tile = 0; tile * KEYS < count; tile++) {
            const unsigned int i = tile % STAGES;
            // At first every slot is free: the phase before the first counts as complete.
            free[i].wait(tile / STAGES % 2 ^ 1);
            keys[i].load(map_k, head, tile * KEYS, keys_present[i]);
            values[i].load(map_v, head, tile * KEYS, values_present[i]);
        }
    }
};

// Two floats as a word, the first one in its lower half.
template <typename T>
__device__ __forceinline__ unsigned int rounded(float a, float b) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
        return *reinterpret_cast<const unsigned int*>(&pair);
    } else {
        return as_word(__floats2half2_rn(a, b));
    }
}

// multiply_rows() of common/warpgroup.cuh for either type.
template <typename T>
__device__ __forceinline__ void add_rows(float (&sums)[32], const unsigned int (&a)[4],
                                         unsigned long long b) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
#define FOUR(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
            "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
            "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
            : FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#undef FOUR
    } else {
        multiply_rows(sums, a, b);
    }
}

template <unsigned int D, typename T = __half>
class Attention {
    static constexpr unsigned int BOXES = (D + 63) / 64;
    // For each row: the largest score, this thread's part of the weights' sum, and the factor from
    // the previous maximum to this one.
    float largest[2] = {-INFINITY, -INFINITY}, sums[2] = {}, factor[2];
    float outputs[BOXES][32] = {};

public:
    // Begins the scores of 64 queries, from row `first` on, with a tile of keys.
    template <unsigned int QUERIES>
    __device__ __forceinline__ static void begin_scores(float (&scores)[KEYS / 2],
                                                        const Boxes<D, QUERIES>& queries,
                                                        unsigned int first,
                                                        const Boxes<D, KEYS>& keys) {
#pragma unroll
        for (float& score : scores) score = 0.0f;
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < 4 * BOXES; i++) {
            multiply<T>(scores,
                        describe(queries.box[i / 4] + first * 128) + i % 4 * NEXT_32_BYTES,
                        describe(keys.box[i / 4]) + i % 4 * NEXT_32_BYTES);
        }
        end_products();
    }

    // Begins to add a tile's rows of v, times their weights.
    __device__ __forceinline__ void begin_outputs(const unsigned int (&weights)[KEYS / 16][4],
                                                  const Boxes<D, KEYS>& values) {
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < KEYS / 16; i++) {
#pragma unroll
            for (unsigned int j = 0; j < BOXES; j++) {
                add_rows<T>(outputs[j], weights[i], describe(values.box[j] + i * 16 * 128));
            }
        }
        end_products();
    }

    // Turns scores into weights; `count` of the keys exist, at least one.
    __device__ __forceinline__ void softmax(float (&scores)[KEYS / 2], unsigned int count) {
        softmax(scores, count, count);
    }

    // The same if each of this thread's two rows has its own count: `upper`, and a larger one.
    __device__ __forceinline__ void softmax(float (&scores)[KEYS / 2], unsigned int upper,
                                            unsigned int lower) {
        if (upper < KEYS) {
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 2; i++) {
                const unsigned int key = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
                if (key >= (i / 2 % 2 == 0 ? upper : lower)) scores[i] = -INFINITY;
            }
        }
        // e^((s − top) / √d) = 2^(s scale − top scale): one instruction before the
        // power.
        const float scale = 1.44269504f / sqrtf(static_cast<float>(D));
#pragma unroll
        for (unsigned int half = 0; half < 2; half++) {
            float top = largest[half];
#pragma unroll
            for (unsigned int i = 2 * half; i < KEYS / 2; i += 4) {
                top = fmaxf(top, fmaxf(scores[i], scores[i + 1]));
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            factor[half] = power_of_2((largest[half] - top) * scale);  // at first 0
            largest[half] = top;
            sums[half] *= factor[half];
#pragma unroll
            for (unsigned int i = 2 * half; i < KEYS / 2; i += 4) {
                scores[i] = power_of_2(fmaf(scores[i], scale, -top * scale));
                scores[i + 1] = power_of_2(fmaf(scores[i + 1], scale, -top * scale));
                sums[half] += scores[i] + scores[i + 1];
            }
        }
    }

    // Rescales the earlier sums to the maximum that softmax() found, and packs the weights for the
    // product.
    __device__ __forceinline__ void rescale(unsigned int (&weights)[KEYS / 16][4],
                                            const float (&scores)[KEYS / 2]) {
#pragma unroll
        for (unsigned int i = 0; i < 32 * BOXES; i++) {
            outputs[i / 32][i % 32] *= factor[i / 2 % 2];
        }
#pragma unroll
        for (unsigned int i = 0; i < KEYS / 4; i++) {
            weights[i / 4][i % 4] = rounded<T>(scores[2 * i], scores[2 * i + 1]);
        }
    }

    // Writes the rows of a head's o from `first` on; there are n.
    __device__ __forceinline__ void store(T* o, unsigned int first, unsigned int n) const {
#pragma unroll
        for (unsigned int half = 0; half < 2; half++) {
            float sum = sums[half];  // a row's four threads have a part each
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const unsigned int row =
                first + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + 8 * half;
            if (row >= n) continue;
#pragma unroll
            for (unsigned int i = 0; i < 8 * BOXES; i++) {
                const unsigned int column = 8 * i + threadIdx.x % 4 * 2;
                if (column >= D) continue;
                const float* pair = &outputs[i / 8][i % 8 * 4 + 2 * half];
                *reinterpret_cast<unsigned int*>(o + row * D + column) =
                    rounded<T>(pair[0] / sum, pair[1] / sum);
            }
        }
    }
};
