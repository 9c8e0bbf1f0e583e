// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major
//
// Idea: the mathematics rewritten. A block keeps 64 queries and walks once over k and v in tiles of
// 64 keys. For each query it keeps the largest score so far, the sum of its weights and the
// weighted sum of v's rows; if a tile has a larger score, both sums are scaled down to it. In
// the end they equal the result of a softmax over the whole row, and no score has left the
// SM.
//
// Contract: any heads below 2^16, n >= 1, d = D from 1 to 128, with heads n d below 2^32; T is
// float, __half or __nv_bfloat16; a block of 256 threads; a grid of (ceil(n / 64), heads).
// 4 * 64 * (3 * (D, rounded up to 16, + 4) + 68) bytes of dynamic shared memory.
//
// From: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018); Dao et al.,
// "FlashAttention" (2022).
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float32 31.2× v0, float16 32.6× v0, bfloat16 32.6× v0.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "common/matrix.cuh"

constexpr unsigned int QUERIES = 64, KEYS = 64, THREADS = 256;

// Rows first .. first + 64 of a head's n × D as floats, with zeros past the end.
template <typename T, unsigned int D, unsigned int WIDTH, unsigned int PITCH>
__device__ __forceinline__ void load_tile(float* tile, const T* from, unsigned int first,
                                          unsigned int n) {
    for (unsigned int i = threadIdx.x; i < 64 * WIDTH; i += THREADS) {
        const unsigned int row = i / WIDTH, column = i % WIDTH;
        const bool inside = first + row < n && column < D;
        tile[row * PITCH + column] =
            inside ? static_cast<float>(from[(first + row) * D + column]) : 0.0f;
    }
}

template <typename T, unsigned int D>
__global__ void __launch_bounds__(THREADS) attention(const T* q, const T* k, const T* v, T* o,
                                                     unsigned int n) {
    constexpr unsigned int WIDTH = (D + 15) / 16 * 16;
    // Rows are a multiple of 16 plus 4 words long: when 8 lanes read 16 bytes each from successive
    // rows, no two share a bank.
    constexpr unsigned int PITCH = WIDTH + 4, PITCH_W = KEYS + 4;
    constexpr unsigned int GROUPS = (WIDTH + 63) / 64;  // of 16 × 4 columns
    extern __shared__ __align__(16) float memory[];
    float* tile_q = memory;
    float* tile_k = tile_q + QUERIES * PITCH;
    float* tile_v = tile_k + KEYS * PITCH;
    float* weights = tile_v + KEYS * PITCH;
    const float scale = 1.0f / sqrtf(static_cast<float>(D));
    const unsigned int x = threadIdx.x % 16, y = threadIdx.x / 16 * 4;
    const unsigned int first = blockIdx.x * QUERIES;
    const unsigned int head = blockIdx.y * n * D;

    // For queries y .. y + 3: the largest score so far, this thread's part of the weights' sum, and
    // columns 4x .. 4x + 3, 64 + 4x … of the weighted sums.
    float largest[4], sums[4] = {}, outputs[4][GROUPS][4] = {};
    for (float& each : largest) each = -INFINITY;

    load_tile<T, D, WIDTH, PITCH>(tile_q, q + head, first, n);
    for (unsigned int key = 0; key < n; key += KEYS) {
        load_tile<T, D, WIDTH, PITCH>(tile_k, k + head, key, n);
        load_tile<T, D, WIDTH, PITCH>(tile_v, v + head, key, n);
        __syncthreads();

        float scores[4][4] = {};  // of queries y .. y + 3 with keys x, x + 16, x + 32, x + 48
#pragma unroll 4
        for (unsigned int l = 0; l < WIDTH; l += 4) {
            float of_q[4][4], of_k[4][4];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                fetch_four(of_q[i], tile_q + (y + i) * PITCH + l);
                fetch_four(of_k[i], tile_k + (x + 16 * i) * PITCH + l);
            }
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                for (unsigned int j = 0; j < 4; j++) {
#pragma unroll
                    for (unsigned int s = 0; s < 4; s++) scores[i][j] += of_q[i][s] * of_k[j][s];
                }
            }
        }

#pragma unroll
        for (unsigned int i = 0; i < 4; i++) {
            float top = largest[i];
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                scores[i][j] = key + x + 16 * j < n ? scores[i][j] * scale : -INFINITY;
                top = fmaxf(top, scores[i][j]);
            }
            // The 16 threads of a query are half a warp.
#pragma unroll
            for (unsigned int offset = 8; offset > 0; offset /= 2) {
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
            }
            // Every tile has a key, so `top` is a number; at first the factor is 0.
            const float factor = expf(largest[i] - top);
            largest[i] = top;
            sums[i] *= factor;
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const float weight = expf(scores[i][j] - top);
                sums[i] += weight;
                weights[(y + i) * PITCH_W + x + 16 * j] = weight;
            }
#pragma unroll
            for (unsigned int g = 0; g < GROUPS; g++) {
#pragma unroll
                for (unsigned int s = 0; s < 4; s++) outputs[i][g][s] *= factor;
            }
        }
        __syncwarp();  // a query's weights are written and read by the same half of a warp

#pragma unroll 4
        for (unsigned int l = 0; l < KEYS; l += 4) {
            float of_w[4][4];
#pragma unroll
            for (unsigned int i = 0; i < 4; i++) {
                fetch_four(of_w[i], weights + (y + i) * PITCH_W + l);
            }
#pragma unroll
            for (unsigned int g = 0; g < GROUPS; g++) {
                const unsigned int column = 64 * g + 4 * x;
                if (column >= WIDTH) break;
#pragma unroll
                for (unsigned int s = 0; s < 4; s++) {
                    float of_v[4];
                    fetch_four(of_v, tile_v + (l + s) * PITCH + column);
#pragma unroll
                    for (unsigned int i = 0; i < 4; i++) {
#pragma unroll
                        for (unsigned int j = 0; j < 4; j++) {
                            outputs[i][g][j] += of_w[i][s] * of_v[j];
                        }
                    }
                }
            }
        }
        __syncthreads();  // all have read before the tiles are overwritten
    }

#pragma unroll
    for (unsigned int i = 0; i < 4; i++) {
        float sum = sums[i];
#pragma unroll
        for (unsigned int offset = 8; offset > 0; offset /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        }
        if (first + y + i >= n) continue;
        T* to = o + head + (first + y + i) * D;
#pragma unroll
        for (unsigned int g = 0; g < GROUPS; g++) {
#pragma unroll
            for (unsigned int j = 0; j < 4; j++) {
                const unsigned int column = 64 * g + 4 * x + j;
                if (column < D) to[column] = static_cast<T>(outputs[i][g][j] / sum);
            }
        }
    }
}
