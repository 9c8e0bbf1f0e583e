// output[0] = sum of input[0 .. n), float32
//
// Idea: four floats per load. v8 spends an instruction, and its address computation, on each 4
// bytes of a thread. Here it is one per 16, and a warp's request is four whole 128-byte lines. The
// loop over the input is v8's, in steps of float4.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct; a multiple of the number of SMs gives each SM the same work. input
// is 16-byte aligned, as every device allocation is.
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013). The tree is v8's; from this variant on it is in common/block.cuh.
//
// Measured: H200, n = 2²⁸: 1.37× v8.
#include "common/block.cuh"
#include "common/vector.cuh"
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    const float4* input4 = reinterpret_cast<const float4*>(input);
    const unsigned int count4 = n / 4;
    const unsigned int tid = threadIdx.x;

    // Consecutive threads read consecutive float4 at every step. i stays below n / 4 + one
    // grid-wide step, far from 2^32.
    const unsigned int step = gridDim.x * (2 * blockDim.x);
    float x = 0.0f;
    for (unsigned int i = blockIdx.x * (2 * blockDim.x) + tid; i < count4; i += step) {
        x += sum(input4[i]);
        if (i + blockDim.x < count4) x += sum(input4[i + blockDim.x]);
    }
    // Up to three floats are left over that do not fill a float4.
    if (blockIdx.x == 0 && tid < n % 4) x += input[4 * count4 + tid];

    x = block_sum(x);
    if (tid == 0) partials[blockIdx.x] = x;
}
