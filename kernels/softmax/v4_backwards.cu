// output[i] = exp(input[i] - max) / sum of exp(input[j] - max), i = 0 .. n - 1, float32
//
// Idea: the second pass goes backwards. Where the input is larger than the L2 cache, v2's second
// pass begins with what the first read longest ago and finds none of it there, and so on to the
// end: a cache that drops the oldest is of no use to repeated walks in one direction. The first
// pass leaves its last tens of megabytes in the cache, so the second begins with those.
//
// Contract: any 1 <= n <= 2^31, the same grid for both kernels, of at most 65536 blocks; a block of
// 32 to 1024 threads, a multiple of 32; no dynamic shared memory. input and output are 16-byte
// aligned, as every device allocation is. Finite input.
//
// From: an old habit of merges on tape, which spare the rewinding: Donald Knuth, "The Art of
// Computer Programming", volume 3 (1973), 5.4.4, "Reading Tape Backwards".
//
// Measured: not yet.
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
    second_pass<true>(input, output, n, over_blocks(maxima, sums));
}
