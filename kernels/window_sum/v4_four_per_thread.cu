// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: four outputs per thread, with 16-byte accesses. The windows of four neighbours have 2 *
// RADIUS - 2 elements in common, which are added up once; each output then needs three more. A
// thread reads its 2 * RADIUS + 4 elements as float4, with a quarter of the instructions that v1
// uses for one output. Unlike a running sum this subtracts nothing, so rounding errors do not
// accumulate.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, four elements per thread, with dynamic shared
// memory for 4 * blockDim.x + 2 * RADIUS floats. RADIUS is defined as a multiple of 4. input and
// output are 16-byte aligned, as every device allocation is.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010), on several outputs per
// thread.
//
// Measured: H200, n = 2²⁸: 2.61× v1.
#include "common/window.cuh"

#if !defined(RADIUS) || RADIUS % 4 != 0
#error "v4_four_per_thread.cu needs a radius that is a multiple of 4: -DRADIUS=16"
#endif

extern "C" __global__ void window_sum(const float* input, float* output, int n) {
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
    float common = 0.0f;
#pragma unroll
    for (int j = 3; j <= 2 * RADIUS; j++) common += v[j];
    const float4 sums = make_float4(
        common + (v[0] + v[1] + v[2]), common + (v[1] + v[2] + v[2 * RADIUS + 1]),
        common + (v[2] + v[2 * RADIUS + 1] + v[2 * RADIUS + 2]),
        common + (v[2 * RADIUS + 1] + v[2 * RADIUS + 2] + v[2 * RADIUS + 3]));
    store_inside(output, first + 4 * threadIdx.x, n, sums);
}
