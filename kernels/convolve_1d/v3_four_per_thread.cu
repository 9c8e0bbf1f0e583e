// output[i] = sum over k of filter[k] * input[i + k - RADIUS], k = 0 .. 2 * RADIUS, zeros beyond
// the ends, i = 0 .. n - 1, float32
//
// Idea: four outputs per thread. v2 reads a word of shared memory for every multiplication; the
// windows of four neighbours share all but three elements at either end, so a thread that reads 2 *
// RADIUS + 4 elements into registers, as float4, has everything that four outputs need. Global
// memory is also read and written 16 bytes at a time.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, four elements per thread, with dynamic shared
// memory for 4 * blockDim.x + 2 * RADIUS floats. RADIUS is defined as 16. input and output are
// 16-byte aligned, as every device allocation is.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010), on several outputs per
// thread.
//
// Measured: H200, n = 2²⁸: 2.48× v2.
#include "common/window.cuh"
#include "convolve_1d/filter.cuh"

static_assert(RADIUS % 4 == 0, "the halo is float4 too");

extern "C" __global__ void convolve(const float* input, float* output, int n) {
    extern __shared__ float4 tile[];
    constexpr int HALO = RADIUS / 4;  // float4 on either side
    const int first = blockIdx.x * 4 * blockDim.x;
    for (int j = threadIdx.x; j < static_cast<int>(blockDim.x) + 2 * HALO; j += blockDim.x) {
        tile[j] = load_inside(input, first + 4 * (j - HALO), n);
    }
    __syncthreads();

    // v[0] to v[2 * RADIUS + 3]; output k uses v[k] to v[k + 2 * RADIUS].
    float v[2 * RADIUS + 4];
    read_window(v, tile + threadIdx.x);
    float4 sums = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++) {
        sums.x += filter[k] * v[k];
        sums.y += filter[k] * v[k + 1];
        sums.z += filter[k] * v[k + 2];
        sums.w += filter[k] * v[k + 3];
    }
    store_inside(output, first + 4 * threadIdx.x, n, sums);
}
