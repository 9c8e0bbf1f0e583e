// output[0] = sum of input[0 .. n), float32
//
// Idea: v0's tree in shared memory. Each element is read from global memory once and the levels
// of the tree then run on-chip; input is not modified. The remaining cost of v0: `tid % (2 *
// stride)` is an integer division by a variable, and it leaves the active threads spread over all
// warps, so that at stride 16 each warp still issues every instruction for a single lane.
//
// Contract: any 1 <= n <= 2^31, a block of 64 to 1024 threads, a power of two, with one float of
// dynamic shared memory per thread. The blocks cover n with one element per thread.
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 1.
//
// Measured: H200, n = 2²⁸: 1.15× v0.
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    extern __shared__ float s[];
    const unsigned int tid = threadIdx.x;
    const unsigned int i = blockIdx.x * blockDim.x + tid;

    // Zero past the end: the tree below then needs no guards.
    s[tid] = i < n ? input[i] : 0.0f;
    __syncthreads();

    for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0) {
            s[tid] += s[tid + stride];
        }
        __syncthreads();
    }

    if (tid == 0) partials[blockIdx.x] = s[0];
}
