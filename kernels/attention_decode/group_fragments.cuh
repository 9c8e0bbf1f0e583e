// A warp's work for the queries of a group on tensor cores: for v5 and the variants after it. The G
// queries are the first of the 16 rows of a left factor; the other rows are zeros. Each warp takes
// its own tiles of keys; attention/fragments.cuh says which elements of a fragment a lane holds.
//
// A Tile has at(row, column): the address in shared memory of the eight elements that start there.
#pragma once

#include <type_traits>

#include "attended.cuh"

template <typename T>
constexpr bool is_bfloat16 = std::is_same_v<T, __nv_bfloat16>;

// multiply() from attention/fragments.cuh for either type.
template <typename T>
__device__ __forceinline__ void add_product(float (&sums)[4], const unsigned int (&a)[4],
                                            unsigned int b0, unsigned int b1) {
    if constexpr (is_bfloat16<T>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        multiply(sums, a, b0, b1);
    }
}

// Two floats as a word, the first one in the lower half.
template <typename T>
__device__ __forceinline__ unsigned int rounded_pair(float a, float b) {
    if constexpr (is_bfloat16<T>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
        return *reinterpret_cast<const unsigned int*>(&pair);
    } else {
        return as_word(__floats2half2_rn(a, b));
    }
}

template <typename T, unsigned int D, unsigned int G, unsigned int KEYS>
class GroupOfQueries {
    static_assert(G <= 16 && D % 16 == 0 && KEYS % 16 == 0, "whole fragments");
    static constexpr unsigned int HALVES = G > 8 ? 2 : 1;  // 8-row halves in use

    const unsigned int lane = threadIdx.x % 32;
    unsigned int queries[D / 16][4];
    // For rows g and g + 8: the largest score, before it is scaled, and this lane's part of the sum
    // of weights.
    float largest[HALVES], sums[HALVES];
    float outputs[D / 8][4] = {};

    __device__ __forceinline__ static unsigned int pair(const T* q, unsigned int row,
                                                        unsigned int column) {
        if (row >= G) return 0;
        return *reinterpret_cast<const unsigned int*>(q + row * D + column);
    }

public:
    // The G queries at q.
    __device__ __forceinline__ explicit GroupOfQueries(const T* q) {
        const unsigned int row = lane / 4, column = lane % 4 * 2;
#pragma unroll
        for (unsigned int i = 0; i < D / 16; i++) {
            queries[i][0] = pair(q, row, 16 * i + column);
            queries[i][1] = pair(q, row + 8, 16 * i + column);
            queries[i][2] = pair(q, row, 16 * i + column + 8);
            queries[i][3] = pair(q, row + 8, 16 * i + column + 8);
        }
#pragma unroll
        for (unsigned int half = 0; half < HALVES; half++) {
            largest[half] = -FLT_MAX;
            sums[half] = 0.0f;
        }
    }

    // A tile of keys and their rows of v, of which `count` exist (at least one); the other rows of
    // v must be finite.
    template <typename Tile>
    __device__ __forceinline__ void attend(const Tile& k, const Tile& v, unsigned int count) {
        float scores[KEYS / 8][4] = {};
#pragma unroll
        for (unsigned int i = 0; i < D / 16; i++) {
#pragma unroll
            for (unsigned int j = 0; j < KEYS / 16; j++) {
                // Keys 16 j .. and 16 j + 8 .., each with columns 16 i .. and 16 i + 8 ...
                unsigned int b[4];
                const unsigned int key = 16 * j + lane / 16 * 8 + lane % 8;
                load_matrices(b, k.at(key, 16 * i + lane / 8 % 2 * 8));
                add_product<T>(scores[2 * j], queries[i], b[0], b[1]);
                add_product<T>(scores[2 * j + 1], queries[i], b[2], b[3]);
            }
        }

        unsigned int weights[KEYS / 16][4] = {};
        softmax(scores, weights, count);

#pragma unroll
        for (unsigned int j = 0; j < KEYS / 16; j++) {
#pragma unroll
            for (unsigned int i = 0; i < D / 16; i++) {
                // Columns 16 i .. and 16 i + 8 .., each with keys 16 j .. and 16 j + 8 ...
                unsigned int b[4];
                load_transposed(b, v.at(16 * j + lane % 16, 16 * i + lane / 16 * 8));
                add_product<T>(outputs[2 * i], weights[j], b[0], b[1]);
                add_product<T>(outputs[2 * i + 1], weights[j], b[2], b[3]);
            }
        }
    }

    // A barrier of the block must follow.
    template <unsigned int WARPS>
    __device__ __forceinline__ void put(OfWarps<WARPS, G, D>& of_warps) {
#pragma unroll
        for (float& sum : sums) {  // each of a row's four lanes has a part
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        }
#pragma unroll
        for (unsigned int half = 0; half < HALVES; half++) {
            const unsigned int row = lane / 4 + 8 * half, warp = threadIdx.x / 32;
            if (row >= G) continue;
            if (lane % 4 == 0) {
                of_warps.largest[row][warp] = largest[half] * scale_of_scores(D);
                of_warps.sums[row][warp] = sums[half];
            }
#pragma unroll
            for (unsigned int i = 0; i < D / 8; i++) {
                float* to = &of_warps.values[row][warp][8 * i + lane % 4 * 2];
                to[0] = outputs[i][2 * half];
                to[1] = outputs[i][2 * half + 1];
            }
        }
    }

private:
    // Replaces scores by weights, and rescales the previous sums to the new largest score.
    __device__ __forceinline__ void softmax(float (&scores)[KEYS / 8][4],
                                            unsigned int (&weights)[KEYS / 16][4],
                                            unsigned int count) {
        if (count < KEYS) {
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
#pragma unroll
                for (unsigned int s = 0; s < 4; s++) {
                    if (8 * i + lane % 4 * 2 + s % 2 >= count) scores[i][s] = -INFINITY;
                }
            }
        }
        // 2^(s scale − top scale) needs one instruction before the power.
        const float scale = scale_of_scores(D);
#pragma unroll
        for (unsigned int half = 0; half < HALVES; half++) {
            float top = largest[half];
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
                top = fmaxf(top, fmaxf(scores[i][2 * half], scores[i][2 * half + 1]));
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float factor = power_of_2((largest[half] - top) * scale);  // at first 0
            largest[half] = top;
            sums[half] *= factor;
#pragma unroll
            for (unsigned int i = 0; i < D / 8; i++) {
                outputs[i][2 * half] *= factor;
                outputs[i][2 * half + 1] *= factor;
            }
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
                const float a = power_of_2(fmaf(scores[i][2 * half], scale, -top * scale));
                const float b = power_of_2(fmaf(scores[i][2 * half + 1], scale, -top * scale));
                sums[half] += a + b;
                weights[i / 2][i % 2 * 2 + half] = rounded_pair<T>(a, b);
            }
        }
    }
};
