// output[i] = sum over k of filter[k] * input[i + k - RADIUS], k = 0 .. 2 * RADIUS, zeros beyond
// the ends, i = 0 .. n - 1, float32
//
// Idea: v1 with the block's elements and their halo in shared memory, zeros where the input ends.
// Each element is read from global memory once per block, and no window has to check whether it is
// at an end.
//
// Contract: any 1 <= n <= 2^30; the blocks cover n, one element per thread, with dynamic shared
// memory for blockDim.x + 2 * RADIUS floats. RADIUS is defined as 16.
//
// From: Victor Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), in one dimension.
//
// Measured: H200, n = 2²⁸: 1.53× v1.
#include "convolve_1d/filter.cuh"

extern "C" __global__ void convolve(const float* input, float* output, int n) {
    extern __shared__ float tile[];
    const int first = blockIdx.x * blockDim.x;
    for (int j = threadIdx.x; j < static_cast<int>(blockDim.x) + 2 * RADIUS; j += blockDim.x) {
        const int i = first - RADIUS + j;
        tile[j] = i >= 0 && i < n ? input[i] : 0.0f;
    }
    __syncthreads();

    const int i = first + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; k++) sum += filter[k] * tile[threadIdx.x + k];
    output[i] = sum;
}
