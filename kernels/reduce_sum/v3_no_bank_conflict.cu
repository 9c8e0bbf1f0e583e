// output[0] = sum of input[0 .. n), float32
//
// Idea: sequential addressing. The stride starts at half the block and halves: thread t adds
// element t + stride to element t. The first threads still do the work, as in v2, and now
// neighbouring lanes touch neighbouring words: 32 lanes, 32 banks, no conflict at any level.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a power of two, with one float of
// dynamic shared memory per thread. The blocks cover n with one element per thread.
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 3.
//
// Measured: H200, n = 2²⁸: 1.24× v2.
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    extern __shared__ float s[];
    const unsigned int tid = threadIdx.x;
    const unsigned int i = blockIdx.x * blockDim.x + tid;

    // Zero past the end: the tree below then needs no guards.
    s[tid] = i < n ? input[i] : 0.0f;
    __syncthreads();

    for (unsigned int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) {
            s[tid] += s[tid + stride];
        }
        // Outside the branch: a barrier that only the working threads reached would be undefined.
        __syncthreads();
    }

    if (tid == 0) partials[blockIdx.x] = s[0];
}
