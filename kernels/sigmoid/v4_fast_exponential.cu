// output[i] = 1 / (1 + exp(−input[i])), float32, float16 or bfloat16
//
// Idea: fewer instructions per element. __expf() is one instruction of the special function unit
// and a multiplication; __fdividef() is a reciprocal of the same unit and one more. Their errors
// are relative to a power that is added to 1, so the result loses hardly a digit. Whether it helps
// depends on how close v3's instructions come to the SMs' issue rate while memory is busy.
//
// Contract: any n of at least 1 in arrays of at most 32 GiB, whose packs have numbers of 32 bits;
// no shared memory. Blocks that cover n with four packs of 16 bytes per thread. The arrays may
// start anywhere, as in v2b.
//
// From: "Intrinsic Functions" in the CUDA Math API.
//
// Measured: H200, n = 2²⁸: float32 1.002× v3a (the same within 1 %).
#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "elementwise_add/index.cuh"

constexpr int in_flight = 4;

// __fdividef() returns 0 for a denominator of 2^126 or more, which is correct here to 38 decimals.
__device__ __forceinline__ DTYPE logistic(DTYPE x) {
    return DTYPE(__fdividef(1.0f, 1.0f + __expf(-float(x))));
}

extern "C" __global__ void sigmoid(const DTYPE* input, DTYPE* output, Index n) {
    constexpr unsigned int width = Pack<DTYPE>::width;
    const Index packs = start_on_16_bytes(input, output) ? n / width : 0;
    const Index first =
        static_cast<Index>(blockIdx.x) * (in_flight * blockDim.x) + threadIdx.x;

    Pack<DTYPE> x[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; k++) {
        const Index i = first + k * blockDim.x;
        if (i < packs) x[k] = load_pack(input, i);
    }
#pragma unroll
    for (int k = 0; k < in_flight; k++) {
        const Index i = first + k * blockDim.x;
        if (i < packs) {
#pragma unroll
            for (int j = 0; j < width; j++) x[k].value[j] = logistic(x[k].value[j]);
            store_pack(output, i, x[k]);
        }
    }

    // What fills no pack.
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = packs * width + thread; i < n; i += threads) output[i] = logistic(input[i]);
}
