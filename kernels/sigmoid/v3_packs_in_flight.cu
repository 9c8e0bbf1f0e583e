// output[i] = 1 / (1 + exp(−input[i])), float32, float16 or bfloat16
//
// Idea: keep more bytes in flight. A thread issues its loads of four packs, 64 bytes together,
// before it uses the first. The packs are a block's width apart, so in each access a warp's lanes
// take neighbouring packs.
//
// Contract: any n of at least 1 in arrays of at most 32 GiB, whose packs have numbers of 32 bits;
// no shared memory. Blocks that cover n with four packs of 16 bytes per thread. The arrays may
// start anywhere, as in v2b.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010).
//
// Measured: H200, n = 2²⁸: float32 0.976× v1a.
#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "elementwise_add/index.cuh"
#include "sigmoid/logistic.cuh"

constexpr int in_flight = 4;

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
