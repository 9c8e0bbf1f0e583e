// output[0] = sum of input[0 .. n), float32
//
// Idea: the same tree as v1 over the same elements, but the work of a level goes to the first
// threads of the block: thread t adds the pair at 2 * stride * t. Whole warps are then either
// busy or done, instead of all being busy with few lanes each, and the division is gone. The
// price: neighbouring lanes are 2 * stride words apart, so they meet in the same shared memory
// banks, 2-way at stride 1 up to 32-way at stride 16.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a power of two, with one float of
// dynamic shared memory per thread. The blocks cover n with one element per thread.
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 2.
//
// Measured: H200, n = 2²⁸: 1.49× v1.
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    extern __shared__ float s[];
    const unsigned int tid = threadIdx.x;
    const unsigned int i = blockIdx.x * blockDim.x + tid;

    // Zero past the end: the tree below then needs no guards.
    s[tid] = i < n ? input[i] : 0.0f;
    __syncthreads();

    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned int left = 2 * stride * tid;
        if (left < blockDim.x) {
            s[left] += s[left + stride];
        }
        __syncthreads();
    }

    if (tid == 0) partials[blockIdx.x] = s[0];
}
