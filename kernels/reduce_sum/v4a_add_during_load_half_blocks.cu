// output[0] = sum of input[0 .. n), float32
//
// Idea: in v3 half of the threads do nothing but load one element. Here every thread loads two,
// one block's width apart, and adds them on the way into shared memory: the tree's first level
// costs no barrier and no shared memory, and each thread has two loads in flight instead of one.
// The same elements take half as many blocks of the same size.
//
// v4b launches this file the other way round: as many blocks as v3, each with half as many threads.
// The consequences for the same `block` in the matrix:
//   - the tree is one level shorter, and a barrier waits for half as many warps;
//   - the second step gets twice v4a's partials, as many as v3's;
//   - small blocks reach the SM's limit on resident blocks before its limit on threads. With 32
//     blocks per SM (compute capability 9.0), blocks of 32 threads leave at most 1024 of the 2048
//     threads: half of v4a's loads in flight.
// v4b at `block` is v4a at block / 2: a comparison of launch shapes, not of code.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a power of two, with one float of
// dynamic shared memory per thread. The blocks cover n with two elements per thread.
//
// From: Mark Harris, "Optimizing Parallel Reduction in CUDA" (NVIDIA, 2007), reduction 4; v4b reads
// its "half the blocks" as "half the threads".
//
// Measured: H200, n = 2²⁸: 1.88× v3.
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
