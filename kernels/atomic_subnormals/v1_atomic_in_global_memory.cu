// sums[i] = 0 + x[i], x[i] has the given bits; lost[0] = percentage of sums that are 0
//
// Idea: an atomic addition, which the L2 cache performs. According to the PTX manual, it flushes
// subnormal operands and results to zero, regardless of compiler options.
//
// Contract: add: blocks of any size that cover n. count: one block.
//
// From: "atom" and "red" in the PTX manual.
//
// Measured: H200, n = 2¹⁶: 0.903× v0.
#include "atomic_subnormals/count.cuh"

extern "C" __global__ void add(const unsigned int* bits, float* sums, unsigned int n) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sums[i] = 0.0f;
    atomicAdd(&sums[i], __uint_as_float(bits[i]));
}
