// output[0] = max of input[0 .. n), float32
//
// Idea: four floats per load, and a grid that fills the card once instead of one that grows with n.
// A thread keeps its maximum in a register over all its loads, so the tree is computed once per
// resident thread and not once per element.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. input is 16-byte aligned, as every device allocation is.
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, n = 2²⁸: 3.82× v1.
#include "reduce_max/max_partials.cuh"

extern "C" __global__ void block_maxima(const float* input, float* partials, unsigned int n) {
    const float4* input4 = reinterpret_cast<const float4*>(input);
    const unsigned int threads = gridDim.x * blockDim.x;
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float x = -INFINITY;

    // Otherwise nvcc would unroll this loop, which would make it v3.
#pragma unroll 1
    for (unsigned int i = thread; i < n / 4; i += threads) x = fmaxf(x, largest(input4[i]));
    // Up to three floats are left over that do not fill a float4.
    if (thread < n % 4) x = fmaxf(x, input[n / 4 * 4 + thread]);

    x = block_max(x);
    if (threadIdx.x == 0) partials[blockIdx.x] = x;
}
