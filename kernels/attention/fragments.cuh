// A warp's work on its queries with tensor cores: the part of v2 that v3 and v4 share.
//
// In a fragment of the sums of mma.m16n8k16, 16 × 8, lane 4 g + t holds [g][2t], [g][2t + 1], [g +
// 8][2t] and [g + 8][2t + 1], as floats. The left factor, 16 × 16, has pairs of halves at the same
// positions, first of its left and then of its right half: two adjacent fragments of sums, rounded,
// form one. The right factor, 16 × 8, has [2t][g], [2t + 1][g] and [2t + 8][g], [2t + 9][g].
#pragma once

#include <cuda_fp16.h>

#include <cmath>

// sums += a b
__device__ __forceinline__ void multiply(float (&sums)[4], const unsigned int (&a)[4],
                                         unsigned int b0, unsigned int b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four matrices of 8 × 8 halves; the lanes give the rows' addresses: lanes 0 .. 7 for the first,
// and so on. A lane gets the elements [g][2t] and [g][2t + 1] of each. Rows with a stride of a
// multiple of 128 bytes plus 16 lie in different banks.
__device__ __forceinline__ void load_matrices(unsigned int (&to)[4], const __half* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// The same with each matrix transposed: [2t][g] and [2t + 1][g].
__device__ __forceinline__ void load_transposed(unsigned int (&to)[4], const __half* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned int>(__cvta_generic_to_shared(row)))
                 : "memory");
}

__device__ __forceinline__ unsigned int as_word(__half2 pair) {
    return *reinterpret_cast<unsigned int*>(&pair);
}

// 2^x, to about 2^-22, in one instruction; zero below 2^-126, where exp2f() would take three more.
__device__ __forceinline__ float power_of_2(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// 16 * TILES queries of a warp, with D halves each, and their results so far.
template <unsigned int D, unsigned int TILES>
class Queries {
    static constexpr unsigned int WIDTH = (D + 15) / 16 * 16;
    static constexpr unsigned int KEYS = 64;

    const unsigned int lane = threadIdx.x % 32;
    const unsigned int first, n;
    unsigned int queries[TILES][WIDTH / 16][4];
    // For rows g and g + 8 of each tile: the largest score, and this lane's part of the weights'
    // sum.
    float largest[TILES][2], sums[TILES][2];
    float outputs[TILES][WIDTH / 8][4];

    // Two neighbours in a row, with zeros past its end. If D is even, they are one word.
    __device__ __forceinline__ unsigned int pair(const __half* q, unsigned int row,
                                                 unsigned int column) const {
        __half2 both = __half2half2(__half(0.0f));
        if (row < n && column < D) {
            const __half* at = q + row * D + column;
            if constexpr (D % 2 == 0) {
                both = *reinterpret_cast<const __half2*>(at);
            } else {
                both = __halves2half2(at[0], column + 1 < D ? at[1] : __half(0.0f));
            }
        }
        return as_word(both);
    }

public:
    // The queries from first_ on, of the n at q.
    __device__ __forceinline__ Queries(const __half* q, unsigned int first_, unsigned int n_)
        : first(first_), n(n_) {
#pragma unroll
        for (unsigned int m = 0; m < TILES; m++) {
            const unsigned int row = first + 16 * m + lane / 4;
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 16; i++) {
                const unsigned int column = 16 * i + lane % 4 * 2;
                queries[m][i][0] = pair(q, row, column);
                queries[m][i][1] = pair(q, row + 8, column);
                queries[m][i][2] = pair(q, row, column + 8);
                queries[m][i][3] = pair(q, row + 8, column + 8);
            }
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 8; i++) {
                for (float& each : outputs[m][i]) each = 0.0f;
            }
            largest[m][0] = largest[m][1] = -INFINITY;
            sums[m][0] = sums[m][1] = 0.0f;
        }
    }

    // One tile of 64 keys and their rows of v, in shared memory; `count` of them exist, the others
    // are zeros. At least one is there.
    template <unsigned int PITCH>
    __device__ __forceinline__ void attend(const __half* tile_k, const __half* tile_v,
                                           unsigned int count) {
        float scores[TILES][KEYS / 8][4] = {};
#pragma unroll
        for (unsigned int i = 0; i < WIDTH / 16; i++) {
#pragma unroll
            for (unsigned int j = 0; j < KEYS / 16; j++) {
                // Keys 16 j .. and 16 j + 8 .., each with columns 16 i .. and 16 i + 8 ...
                unsigned int b[4];
                const unsigned int key = 16 * j + lane / 16 * 8 + lane % 8;
                load_matrices(b, tile_k + key * PITCH + 16 * i + lane / 8 % 2 * 8);
#pragma unroll
                for (unsigned int m = 0; m < TILES; m++) {
                    multiply(scores[m][2 * j], queries[m][i], b[0], b[1]);
                    multiply(scores[m][2 * j + 1], queries[m][i], b[2], b[3]);
                }
            }
        }

        unsigned int weights[TILES][KEYS / 16][4];
#pragma unroll
        for (unsigned int m = 0; m < TILES; m++) softmax(m, scores[m], weights[m], count);

#pragma unroll
        for (unsigned int j = 0; j < KEYS / 16; j++) {
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 16; i++) {
                // Columns 16 i .. and 16 i + 8 .., each with keys 16 j .. and 16 j + 8 ...
                unsigned int b[4];
                const unsigned int key = 16 * j + lane % 16;
                load_transposed(b, tile_v + key * PITCH + 16 * i + lane / 16 * 8);
#pragma unroll
                for (unsigned int m = 0; m < TILES; m++) {
                    multiply(outputs[m][2 * i], weights[m][j], b[0], b[1]);
                    multiply(outputs[m][2 * i + 1], weights[m][j], b[2], b[3]);
                }
            }
        }
    }

    // The queries' rows of o.
    __device__ __forceinline__ void store(__half* o) const {
#pragma unroll
        for (unsigned int m = 0; m < TILES; m++) {
#pragma unroll
            for (unsigned int half = 0; half < 2; half++) {
                float sum = sums[m][half];  // a row's four lanes have a part each
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                sum += __shfl_xor_sync(0xffffffffu, sum, 2);
                const unsigned int row = first + 16 * m + lane / 4 + 8 * half;
                if (row >= n) continue;
#pragma unroll
                for (unsigned int i = 0; i < WIDTH / 8; i++) {
                    const unsigned int column = 8 * i + lane % 4 * 2;
                    if (column >= D) continue;
                    const __half2 both = __floats2half2_rn(outputs[m][i][2 * half] / sum,
                                                           outputs[m][i][2 * half + 1] / sum);
                    __half* to = o + row * D + column;
                    if constexpr (D % 2 == 0) {
                        *reinterpret_cast<__half2*>(to) = both;
                    } else {
                        to[0] = __low2half(both);
                        if (column + 1 < D) to[1] = __high2half(both);
                    }
                }
            }
        }
    }

private:
    // Turns scores into weights, in place, and rescales the earlier sums to the new largest score.
    __device__ __forceinline__ void softmax(unsigned int m, float (&scores)[KEYS / 8][4],
                                            unsigned int (&weights)[KEYS / 16][4],
                                            unsigned int count) {
        if (count < KEYS) {
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
#pragma unroll
                for (unsigned int s = 0; s < 4; s++) {
                    const unsigned int key = 8 * i + lane % 4 * 2 + s % 2;
                    if (key >= count) scores[i][s] = -INFINITY;
                }
            }
        }
        // e^((s − top) / √d) = 2^(s scale − top scale): one instruction before the
        // power.
        const float scale = 1.44269504f / sqrtf(static_cast<float>(D));
#pragma unroll
        for (unsigned int half = 0; half < 2; half++) {
            float top = largest[m][half];
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
                top = fmaxf(top, fmaxf(scores[i][2 * half], scores[i][2 * half + 1]));
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float factor = power_of_2((largest[m][half] - top) * scale);  // at first 0
            largest[m][half] = top;
            sums[m][half] *= factor;
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 8; i++) {
                outputs[m][i][2 * half] *= factor;
                outputs[m][i][2 * half + 1] *= factor;
            }
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 8; i++) {
                const float a = power_of_2(fmaf(scores[i][2 * half], scale, -top * scale));
                const float b = power_of_2(fmaf(scores[i][2 * half + 1], scale, -top * scale));
                sums[m][half] += a + b;
                weights[i / 2][i % 2 * 2 + half] = as_word(__floats2half2_rn(a, b));
            }
        }
    }
};
