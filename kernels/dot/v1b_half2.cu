// output[0] = sum of a[i] * b[i], i < n, float16 or bfloat16, summed in the same type
//
// Idea: 16-bit numbers in pairs, halves or bfloat16. A __half2 or __nv_bfloat162 is one register
// and one 4-byte access, and one instruction multiplies two pairs and adds them to two sums. The
// sums still have 16 bits, but there are twice as many, each of half as many terms, and a product
// is no longer rounded before it is added.
//
// Contract: any n of at least 1, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. a and b are 4-byte aligned, as every device allocation is. zero is
// one thread, launched before.
//
// From: "Half2 Arithmetic Functions" in the CUDA Math API.
//
// Measured: H200, n = 2²⁸: float16 1.29× v0, bfloat16 1.31× v0.
#include "dot/block_total.cuh"
#include "dot/pair.cuh"
#include "elementwise_add/index.cuh"
#include "index_add/atomic_add.cuh"

extern "C" __global__ void zero(DTYPE* output) {
    *output = DTYPE(0.0f);
}

extern "C" __global__ void dot(const DTYPE* a, const DTYPE* b, DTYPE* output, Index n) {
    const Pair* a2 = reinterpret_cast<const Pair*>(a);
    const Pair* b2 = reinterpret_cast<const Pair*>(b);
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;

    Pair sums = zeros(DTYPE());
    for (Index i = thread; i < n / 2; i += threads) sums = multiplied_added(a2[i], b2[i], sums);
    DTYPE sum = both(sums);
    // If n is odd, one number is left over.
    if (thread == 0 && n % 2 == 1) sum += a[n - 1] * b[n - 1];

    sum = block_total(sum);
    if (threadIdx.x == 0) add_atomically(output, sum);
}
