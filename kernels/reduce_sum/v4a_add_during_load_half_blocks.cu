// output[0] = sum of input[0 .. n), float32
//
// Idea: in v3 half of the threads do nothing but load one element. Here every thread loads two,
// one block's width apart, and adds them on the way into shared memory: the tree's first level
// costs no barrier and no shared memory, and each thread has two loads under way instead of one.
// The same elements take half as many blocks of the same size.
//
// Launch, for any 1 <= n <= 2^31 and a block of 64 to 1024 threads, a power of two:
//   block_sums:   grid ceil_div(n, 2 * block), block block, shared 4 * block,
//                 args [input, partials, n]
//   sum_partials: grid 1, block 1024, shared 0, args [partials, output, ceil_div(n, 2 * block)]
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 4.
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
