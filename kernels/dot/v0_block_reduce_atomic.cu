// output[0] = sum of a[i] * b[i], i < n, float32, float16 or bfloat16, summed in the same type
//
// Idea: each thread sums products over a grid-wide stride, the block joins its threads, and one
// atomic per block joins the blocks. With float16, all of these additions are in halves: they have
// 11 bits, so a sum loses anything below 1/2048 of it, and becomes infinite beyond 65504. bfloat16
// has the range of float32 and only 8 bits: a sum loses anything below 1/256 of it. The hardware
// also has no atomic for a single 16-bit number: atomicAdd() on one is a compare-and-swap loop.
//
// Contract: any n of at least 1, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. zero is one thread, launched before it.
//
// From: the dot product in Jason Sanders and Edward Kandrot, "CUDA by Example" (2010), with the
// final sum on the host replaced by an atomic.
//
// Measured: H200, n = 2²⁸: float32 561 µs ± 0.24 %, float16 763 µs ± 0.23 %, bfloat16 753 µs ± 0.36 %.
#include "dot/block_total.cuh"
#include "elementwise_add/index.cuh"
#include "index_add/atomic_add.cuh"

extern "C" __global__ void zero(DTYPE* output) {
    *output = DTYPE(0.0f);
}

extern "C" __global__ void dot(const DTYPE* a, const DTYPE* b, DTYPE* output, Index n) {
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    DTYPE sum = 0.0f;
    for (Index i = thread; i < n; i += threads) {
        sum += a[i] * b[i];
    }

    sum = block_total(sum);
    if (threadIdx.x == 0) add_atomically(output, sum);
}
