// output[i] = a[i] * b[i], float16 or bfloat16
//
// Idea: one thread per element. A warp's access is 64 bytes, two whole sectors, so nothing is
// wasted, but it takes as many instructions and accesses in flight as twice the bytes would.
//
// Contract: any n of at least 1, blocks that cover n with one element per thread, no shared memory.
//
// From: the vectorAdd sample of the CUDA toolkit.
//
// Measured: H200, n = 2²⁸: float16 783 µs ± 0.044 %, bfloat16 782 µs ± 0.056 %.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "elementwise_add/index.cuh"

extern "C" __global__ void multiply(const DTYPE* a, const DTYPE* b, DTYPE* output, Index n) {
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) output[i] = a[i] * b[i];
}
