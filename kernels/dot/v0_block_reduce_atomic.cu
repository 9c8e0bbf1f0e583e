// output[0] = sum of a[i] * b[i], i < n, float32 or float16, summed in the same type
//
// Idea: each thread sums products over a grid-wide stride, the block joins its threads, and one
// atomic per block joins the blocks. With float16, all of these additions are in halves: they
// have 11 bits, so a sum loses anything below 1/2048 of it, and becomes infinite beyond 65504.
// The hardware also has no atomic for a single half: atomicAdd() on one is a compare-and-swap
// loop.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. zero is one thread, launched before it.
//
// From: the dot product in Jason Sanders and Edward Kandrot, "CUDA by Example" (2010), with the
// final sum on the host replaced by an atomic.
//
// Measured: H200, n = 2²⁸: float32 572 µs ± 0.14 %, float16 756 µs ± 0.071 %.
#include "dot/block_total.cuh"

extern "C" __global__ void zero(DTYPE* output) {
    *output = DTYPE(0.0f);
}

extern "C" __global__ void dot(const DTYPE* a, const DTYPE* b, DTYPE* output, unsigned int n) {
    const unsigned int threads = gridDim.x * blockDim.x;
    DTYPE sum = 0.0f;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        sum += a[i] * b[i];
    }

    sum = block_total(sum);
    if (threadIdx.x == 0) atomicAdd(output, sum);
}
