// output[i] = 1 / (1 + exp(−input[i])), float32, float16 or bfloat16
//
// Idea: one thread per element. The exponential and the division take tens of instructions per
// thread, but meanwhile other warps' loads are in flight.
//
// Contract: any n of at least 1, blocks that cover n with one element per thread, no shared memory.
//
// From: the activation functions of every deep-learning framework, written down directly.
//
// Measured: H200, n = 2²⁸: float32 881 µs ± 0.037 %, float16 805 µs ± 0.054 %, bfloat16 805 µs ± 0.044 %.
#include "elementwise_add/index.cuh"
#include "sigmoid/logistic.cuh"

extern "C" __global__ void sigmoid(const DTYPE* input, DTYPE* output, Index n) {
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) output[i] = logistic(input[i]);
}
