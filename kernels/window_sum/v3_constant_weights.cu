// output[i] = sum of input[i - RADIUS .. i + RADIUS], zeros beyond the ends, i = 0 .. n - 1,
// float32
//
// Idea: v1 with a weight for each position of the window, from constant memory. All lanes of a warp
// need the same weight at the same time, and a multiplication can take such an operand directly
// from the constant cache, so a weighted sum should cost as much as a plain one. All weights are 1
// here, which the compiler does not know: the host may set them before any launch.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, one element per thread, with dynamic shared
// memory for blockDim.x + 2 * RADIUS floats. RADIUS is defined as 16.
//
// From: the convolution of the CUDA samples, which keeps its filter there; kernels/convolve_1d has
// one whose weights differ.
//
// Measured: H200, n = 2²⁸: 0.9948× v1 (the same within 1 %).
#include "window_sum/tile.cuh"

static_assert(RADIUS == 16, "there are 33 weights");

// clang-format off
__constant__ float weights[2 * RADIUS + 1] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
// clang-format on

extern "C" __global__ void window_sum(const float* input, float* output, int n) {
    extern __shared__ float tile[];
    const int first = blockIdx.x * blockDim.x;
    load_with_halo(tile, input, first, blockDim.x, n);
    __syncthreads();

    const int i = first + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j <= 2 * RADIUS; j++) sum += weights[j] * tile[threadIdx.x + j];
    output[i] = sum;
}
