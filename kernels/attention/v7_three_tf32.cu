// o = softmax(q k^T / sqrt(d)) v for each head; q, k, v and o are heads × n × d, row-major, float32
//
// Idea: v1 multiplies on the float units. Three products on tensor cores preserve nearly all bits
// of a float (common/three_tf32.cuh), and are faster. A warp takes 16 queries, and holds their
// scores and sums in registers as v2 does; k and v are copied ahead as in v3.
//
// Contract: any heads below 2^16, n >= 1, d = D a multiple of 4 up to 64 (a copy takes 16 bytes),
// with heads n d below 2^32; a block of 128 threads; a grid of (ceil(n / 64), heads). 512 * (2 * (D,
// rounded up to 32) + 20) bytes of dynamic shared memory. Compute capability 8.0.
//
// From: Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing
// the FP32 theoretical peak performance" (2022); Dao, "FlashAttention-2" (2023).
//
// Measured: H200, heads = 64, n = 4,096, d = 64, mask = 1: float32 2.18× v1.
#include <cmath>

#include "common/async_copy.cuh"
#include "common/three_tf32.cuh"

constexpr unsigned int KEYS = 64, THREADS = 128;

// 2^x, to about 2^-22, in one instruction; zero below 2^-126.
__device__ __forceinline__ float power_of_2(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// Rows slightly longer than WIDTH, so the reads of a quarter-warp are spread over all banks.
template <unsigned int WIDTH>
struct Stage {
    float k[KEYS][WIDTH + 16];
    float v[KEYS][WIDTH + 4];
};

// Requests rows first .. first + 64 of a head's n × D, with zeros past the end.
template <unsigned int D, unsigned int WIDTH, unsigned int PITCH>
__device__ __forceinline__ void copy_tile(float (&tile)[KEYS][PITCH], const float* from,
                                          unsigned int first, unsigned int n) {
#pragma unroll
    for (unsigned int i = threadIdx.x; i < KEYS * WIDTH / 4; i += THREADS) {
        const unsigned int row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4;
        const bool inside = first + row < n && column < D;
        copy_16(&tile[row][column], inside ? from + (first + row) * D + column : from,
                inside ? 16 : 0);
    }
}

// Four neighbours in a row of q, with zeros past its end.
template <unsigned int D>
__device__ __forceinline__ float4 load_four(const float* q, unsigned int row, unsigned int column,
                                            unsigned int n) {
    if (row >= n || column >= D) return make_float4(0, 0, 0, 0);
    return *reinterpret_cast<const float4*>(q + row * D + column);
}

template <unsigned int D>
__global__ void __launch_bounds__(THREADS, 3)
    attention(const float* q, const float* k, const float* v, float* o, unsigned int n) {
    static_assert(D % 4 == 0, "rows begin on 16-byte boundaries");
    constexpr unsigned int WIDTH = (D + 31) / 32 * 32;
    extern __shared__ __align__(16) unsigned char memory[];
    auto* stages = reinterpret_cast<Stage<WIDTH>*>(memory);
    const unsigned int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const unsigned int head = blockIdx.y * n * D;
    const unsigned int first = blockIdx.x * 64 + threadIdx.x / 32 * 16;

    copy_tile<D, WIDTH>(stages[0].k, k + head, 0, n);
    copy_tile<D, WIDTH>(stages[0].v, v + head, 0, n);
    commit_copies();

    // The products of a sum may be added in any order. A lane takes four neighbours in a row at
    // once: two are its part of one product, two of the next.
    float4 upper[WIDTH / 16], lower[WIDTH / 16];  // rows g and g + 8
#pragma unroll
    for (unsigned int i = 0; i < WIDTH / 16; i++) {
        upper[i] = load_four<D>(q + head, first + g, 16 * i + 4 * t, n);
        lower[i] = load_four<D>(q + head, first + g + 8, 16 * i + 4 * t, n);
    }
    // For rows g and g + 8: the largest score, and this lane's part of the weights' sum.
    float largest[2] = {-INFINITY, -INFINITY}, sums[2] = {};
    float outputs[WIDTH / 8][4] = {};
    // e^((s − top) / √d) = 2^(s scale − top scale): one instruction before the power.
    const float scale = 1.44269504f / sqrtf(static_cast<float>(D));

    unsigned int present = 0;
    for (unsigned int key = 0; key < n; key += KEYS) {
        // The tile has arrived for this thread and, after the barrier, for all of them. The barrier
        // also means that all are done with the previous tile, so its slot is free.
        wait_for_all_but<0>();
        __syncthreads();
        if (key + KEYS < n) {
            copy_tile<D, WIDTH>(stages[present ^ 1].k, k + head, key + KEYS, n);
            copy_tile<D, WIDTH>(stages[present ^ 1].v, v + head, key + KEYS, n);
            commit_copies();
        }

        float scores[KEYS / 8][4] = {};
#pragma unroll
        for (unsigned int i = 0; i < WIDTH / 16; i++) {
            const Split<4> left = {upper[i].x, lower[i].x, upper[i].y, lower[i].y};
            const Split<4> right = {upper[i].z, lower[i].z, upper[i].w, lower[i].w};
#pragma unroll
            for (unsigned int j = 0; j < KEYS / 8; j++) {
                const float4 four =
                    *reinterpret_cast<const float4*>(&stages[present].k[8 * j + g][16 * i + 4 * t]);
                const Split<4> keys = {four.x, four.y, four.z, four.w};
                multiply_three_tf32(scores[j], left, keys, 0);
                multiply_three_tf32(scores[j], right, keys, 2);
            }
        }

        if (n - key < KEYS) {
#pragma unroll
            for (unsigned int i = 0; i < KEYS / 2; i++) {
                if (i / 4 * 8 + 2 * t + i % 2 >= n - key) scores[i / 4][i % 4] = -INFINITY;
            }
        }
#pragma unroll
        for (unsigned int half = 0; half < 2; half++) {
            float top = largest[half];
#pragma unroll
            for (unsigned int j = 0; j < KEYS / 8; j++) {
                top = fmaxf(top, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
            }
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float factor = power_of_2((largest[half] - top) * scale);  // at first 0
            largest[half] = top;
            sums[half] *= factor;
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 8; i++) {
                outputs[i][2 * half] *= factor;
                outputs[i][2 * half + 1] *= factor;
            }
#pragma unroll
            for (unsigned int j = 0; j < KEYS / 8; j++) {
#pragma unroll
                for (unsigned int i = 2 * half; i < 2 * half + 2; i++) {
                    scores[j][i] = power_of_2(fmaf(scores[j][i], scale, -top * scale));
                    sums[half] += scores[j][i];
                }
            }
        }

        // A lane's scores for keys 2 t and 2 t + 1 are its first operands t and t + 4, so it needs
        // those rows of v. Its four neighbours in a row go to four adjacent products.
#pragma unroll
        for (unsigned int j = 0; j < KEYS / 8; j++) {
            const Split<4> weights = {scores[j][0], scores[j][2], scores[j][1], scores[j][3]};
#pragma unroll
            for (unsigned int i = 0; i < WIDTH / 32; i++) {
                const float* row = &stages[present].v[8 * j + 2 * t][32 * i + 4 * g];
                const float4 even = *reinterpret_cast<const float4*>(row);
                const float4 odd = *reinterpret_cast<const float4*>(row + WIDTH + 4);
                const Split<8> values = {even.x, odd.x, even.y, odd.y,
                                         even.z, odd.z, even.w, odd.w};
#pragma unroll
                for (unsigned int l = 0; l < 4; l++) {
                    multiply_three_tf32(outputs[4 * i + l], weights, values, 2 * l);
                }
            }
        }
        present ^= 1;
    }

#pragma unroll
    for (unsigned int half = 0; half < 2; half++) {
        float sum = sums[half];  // a row's four lanes have a part each
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const unsigned int row = first + g + 8 * half;
        if (row >= n) continue;
#pragma unroll
        for (unsigned int i = 0; i < WIDTH / 16; i++) {
            const unsigned int column = i / 2 * 32 + 8 * t + i % 2 * 4, at = i / 2 * 4;
            if (column >= D) continue;
            *reinterpret_cast<float4*>(o + head + row * D + column) =
                make_float4(outputs[at][2 * half + i % 2] / sum,
                            outputs[at + 1][2 * half + i % 2] / sum,
                            outputs[at + 2][2 * half + i % 2] / sum,
                            outputs[at + 3][2 * half + i % 2] / sum);
        }
    }
}
