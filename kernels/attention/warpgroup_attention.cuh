// What a warpgroup does with its 64 queries, by products of tiles in shared memory: for v5 on. The
// tiles' rows have 64 halves; those past D are zeros.
//
// Thread 4 g + t of warp w has the sums of rows 16 w + g and 16 w + g + 8, in columns 8 j + 2 t and
// 8 j + 2 t + 1, as sums[4 j] .. sums[4 j + 3]. A product takes its first factor from registers in
// the same places, so that scores become weights where they are.
#pragma once

#include <cuda_fp16.h>

#include <cmath>

#include "attention/fragments.cuh"
#include "common/tensor_memory_access.cuh"
#include "common/warpgroup.cuh"

constexpr unsigned int KEYS = 128;  // of a tile

// What a block has in shared memory: its queries, and places for tiles of k and v.
template <unsigned int QUERIES, unsigned int STAGES>
struct Tiles {
    unsigned char queries[QUERIES * 128];
    unsigned char keys[STAGES][KEYS * 128];
    unsigned char values[STAGES][KEYS * 128];
    Barrier queries_present;
    Barrier keys_present[STAGES];
    Barrier values_present[STAGES];
    Barrier free[STAGES];

    // By one thread; a barrier of the block has to follow.
    __device__ __forceinline__ void init() {
        queries_present.init(1);
        for (unsigned int i = 0; i < STAGES; i++) {
            keys_present[i].init(1);
            values_present[i].init(1);
            free[i].init(QUERIES / 64);
        }
        show_barriers();
    }

    // Asks for the queries from `first` on, and for all keys and values of a head; by one thread.
    __device__ __forceinline__ void produce(const CUtensorMap& map_q, const CUtensorMap& map_k,
                                            const CUtensorMap& map_v, unsigned int head,
                                            unsigned int first, unsigned int n) {
        queries_present.arrive_and_expect(sizeof queries);
        load_tile(queries, map_q, head, first, 0, queries_present);
        for (unsigned int tile = 0; tile * KEYS < n; tile++) {
            const unsigned int i = tile % STAGES;
            // At first every place is free: the phase before the first counts as ended.
            free[i].wait(tile / STAGES % 2 ^ 1);
            keys_present[i].arrive_and_expect(sizeof keys[i]);
            load_tile(keys[i], map_k, head, tile * KEYS, 0, keys_present[i]);
            values_present[i].arrive_and_expect(sizeof values[i]);
            load_tile(values[i], map_v, head, tile * KEYS, 0, values_present[i]);
        }
    }
};

template <unsigned int D>
class Attention {
    // Of each row: the largest score, this thread's part of the weights' sum, and the factor from
    // the maximum before to this one.
    float largest[2] = {-INFINITY, -INFINITY}, sums[2] = {}, factor[2];
    float outputs[32] = {};

public:
    // Begins the scores of 64 queries and a tile of keys.
    __device__ __forceinline__ static void begin_scores(float (&scores)[KEYS / 2],
                                                        const unsigned char* queries,
                                                        const unsigned char* keys) {
#pragma unroll
        for (float& score : scores) score = 0.0f;
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            multiply<__half>(scores, describe(queries) + i * NEXT_32_BYTES,
                             describe(keys) + i * NEXT_32_BYTES);
        }
        end_products();
    }

    // Begins to add a tile's rows of v by their weights.
    __device__ __forceinline__ void begin_outputs(const unsigned int (&weights)[KEYS / 16][4],
                                                  const unsigned char* values) {
        begin_products();
#pragma unroll
        for (unsigned int i = 0; i < KEYS / 16; i++) {
            multiply_rows(outputs, weights[i], describe(values + i * 16 * 128));
        }
        end_products();
    }

    // Scores to weights, where `count` of the keys are there, at least one.
    __device__ __forceinline__ void softmax(float (&scores)[KEYS / 2], unsigned int count) {
        if (count < KEYS) {
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 2; i++) {
                const unsigned int key = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
                if (key >= count) scores[i] = -INFINITY;
            }
        }
        // e^((s − top) / √d) = 2^(s scale − top scale), which takes one instruction before the
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

    // What was added up before, to the maximum that softmax() found; and the weights as the product
    // wants them.
    __device__ __forceinline__ void rescale(unsigned int (&weights)[KEYS / 16][4],
                                            const float (&scores)[KEYS / 2]) {
#pragma unroll
        for (unsigned int i = 0; i < 32; i++) outputs[i] *= factor[i / 2 % 2];
#pragma unroll
        for (unsigned int i = 0; i < KEYS / 4; i++) {
            weights[i / 4][i % 4] = as_word(__floats2half2_rn(scores[2 * i], scores[2 * i + 1]));
        }
    }

    // The rows of a head's o from `first` on, of which there are n.
    __device__ __forceinline__ void store(__half* o, unsigned int first, unsigned int n) const {
#pragma unroll
        for (unsigned int half = 0; half < 2; half++) {
            float sum = sums[half];  // a row's four threads have a part each
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const unsigned int row =
                first + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + 8 * half;
            if (row >= n) continue;
#pragma unroll
            for (unsigned int i = 0; i < 8; i++) {
                const unsigned int column = 8 * i + threadIdx.x % 4 * 2;
                if (column >= D) continue;
                *reinterpret_cast<__half2*>(o + row * D + column) = __floats2half2_rn(
                    outputs[4 * i + 2 * half] / sum, outputs[4 * i + 2 * half + 1] / sum);
            }
        }
    }
};
