// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: v1 with 16 bytes per access and two loads in flight per thread. Four numbers at once are
// also cheaper to add: five exponentials and no selection, where one at a time needs a selection
// each. The passes themselves are in passes.cuh.
//
// Contract: any 1 <= n <= 2^31, the same grid for both kernels, of at most 65536 blocks; a block of
// 32 to 1024 threads, a multiple of 32; no dynamic shared memory. input and output are 16-byte
// aligned, as every device allocation is. Finite input.
//
// From: Justin Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (NVIDIA
// developer blog, 2013).
//
// Measured: H200, n = 2³⁰: 1.51× v1.
#include "softmax/passes.cuh"

extern "C" __global__ void reduce(const float* input, float* maxima, float* sums, unsigned int n) {
    const Running r = block_all(first_pass(input, n));
    if (threadIdx.x == 0) {
        maxima[blockIdx.x] = r.max;
        sums[blockIdx.x] = r.sum;
    }
}

extern "C" __global__ void normalise(const float* input, const float* maxima, const float* sums,
                                     float* output, unsigned int n) {
    second_pass(input, output, n, over_blocks(maxima, sums));
}
