// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: eight outputs per thread, in a short block. v4 reads nine float4 of shared memory for four
// outputs, here ten serve eight. Blocks that start one after another also touch the memory in its
// order, as a copy does, which v5's blocks do not that stay. Two things must be mended for it.
// Neighbours read shared memory 32 bytes apart, so every second row of eight float4 has its pairs
// swapped, or two lanes would share a bank. And neighbours would store 16 bytes each, 32 bytes
// apart: they exchange halves, so that a store fills whole sectors.
//
// Contract: any 1 <= n <= 2^30; blocks of a multiple of 32 threads cover n, eight elements per
// thread, with dynamic shared memory for 8 * blockDim.x + 2 * RADIUS floats. RADIUS is defined as a
// multiple of 16. input and output are 16-byte aligned, as every device allocation is.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010), on several outputs per
// thread.
//
// Measured: H200, n = 2²⁸: 1.14× v4.
#include "common/window.cuh"

#if !defined(RADIUS) || RADIUS % 16 != 0
#error "v6_eight_per_thread.cu needs a radius that is a multiple of 16: -DRADIUS=16"
#endif

constexpr int HALO = RADIUS / 4;  // float4 on either side

// Where float4 number j of the tile lies.
__device__ __forceinline__ int place(int j) { return j ^ (j >> 3 & 1); }

extern "C" __global__ void window_sum(const float* __restrict__ input, float* __restrict__ output,
                                      int n) {
    extern __shared__ float4 tile[];
    const int thread = threadIdx.x, first = blockIdx.x * 8 * blockDim.x;
    for (int j = thread; j < 2 * static_cast<int>(blockDim.x) + 2 * HALO; j += blockDim.x) {
        tile[place(j)] = load_inside(input, first + 4 * (j - HALO), n);
    }
    __syncthreads();

    // Elements 7 to 2 * RADIUS of the thread's window belong to all eight outputs.
    float sums[8] = {}, common = 0.0f;
#pragma unroll
    for (int j = 0; j < 2 * HALO + 2; j++) {
        const float4 four = tile[place(2 * thread + j)];
        const float v[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const int i = 4 * j + c;
            if (i >= 7 && i <= 2 * RADIUS) {
                common += v[c];
            } else {
#pragma unroll
                for (int k = 0; k < 8; k++) {
                    if (i >= k && i <= k + 2 * RADIUS) sums[k] += v[c];
                }
            }
        }
    }

    // The even thread of a pair stores the first half of both threads' outputs, the odd one the
    // second: each gives one half away.
    const bool odd = thread & 1;
    float own[4], others[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        own[c] = common + (odd ? sums[4 + c] : sums[c]);
        const float given = common + (odd ? sums[c] : sums[4 + c]);
        others[c] = __shfl_xor_sync(0xffffffffu, given, 1);
    }
    const float4 mine = make_float4(own[0], own[1], own[2], own[3]);
    const float4 theirs = make_float4(others[0], others[1], others[2], others[3]);
    const int at = first + 8 * (thread & ~1) + (odd ? 4 : 0);
    store_inside(output, at, n, odd ? theirs : mine);
    store_inside(output, at + 8, n, odd ? mine : theirs);
}
