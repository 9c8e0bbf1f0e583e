// output[0] = sum of input[0 .. n), float32
//
// Idea: v4a's kernel, line for line, launched the other way round. v4a spends the saved work on
// half as many blocks; here there are as many blocks as in v3, each of half as many threads over
// the same elements. What that changes at the same `block` of the launch table:
//   - the tree is one level shorter, and a barrier waits for half as many warps;
//   - the second step gets twice v4a's partials, as many as v3's;
//   - small blocks reach the SM's limit on resident blocks before its limit on threads. With 32
//     blocks an SM (compute capability 9.0), block = 64 means 32-thread blocks and at most 1024
//     of the 2048 threads: half of v4a's loads under way.
// The case at `block` is v4a's case at block / 2: a comparison of launch shapes, not of code.
//
// Launch, for any 1 <= n <= 2^31 and a `block` of 64 to 1024, a power of two:
//   block_sums:   grid ceil_div(n, block), block block // 2, shared 2 * block,
//                 args [input, partials, n]
//   sum_partials: grid 1, block 1024, shared 0, args [partials, output, ceil_div(n, block)]
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 4, read as
// "half the threads" instead of "half the blocks".
#include "reduce_sum/sum_partials.cuh"

extern "C" __global__ void block_sums(const float* input, float* partials, unsigned int n) {
    extern __shared__ float s[];
    const unsigned int tid = threadIdx.x;
    const unsigned int i = blockIdx.x * (2 * blockDim.x) + tid;

    // Zero past the end: the tree below then needs no guards.
    const float a = i < n ? input[i] : 0.0f;
    const float b = i + blockDim.x < n ? input[i + blockDim.x] : 0.0f;
    s[tid] = a + b;
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
