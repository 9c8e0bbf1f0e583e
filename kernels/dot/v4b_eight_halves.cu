// output[0] = sum of a[i] * b[i], i < n, float16 or bfloat16, summed in float32
//
// Idea: 16 bytes in one load, which are eight halves or numbers of bfloat16, and two loads of each
// input in flight before the first is used: 128 KiB for the 2048 threads of an SM, as in v2a.
// Elements that do not fill a pack, or all if an array is not aligned to 16 bytes, are handled one
// by one.
//
// Contract: any n of at least 1 in arrays of at most 32 GiB, whose packs have numbers of 32 bits; a
// block of 32 to 1024 threads, a multiple of 32, no dynamic shared memory. Any grid is correct. a
// and b may start anywhere. zero and round_once are one thread each, launched before and after.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010).
//
// Measured: H200, n = 2²⁸: float16 1.20× v3b, bfloat16 1.21× v3b.
#include <cuda_bf16.h>

#include "common/pack.cuh"
#include "dot/block_total.cuh"
#include "elementwise_add/index.cuh"

__device__ __forceinline__ float product(const Pack<DTYPE>& x, const Pack<DTYPE>& y) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < Pack<DTYPE>::width; j++) {
        sum += float(x.value[j]) * float(y.value[j]);
    }
    return sum;
}

extern "C" __global__ void zero(float* total) {
    *total = 0.0f;
}

extern "C" __global__ void dot(const DTYPE* a, const DTYPE* b, float* total, Index n) {
    constexpr unsigned int width = Pack<DTYPE>::width;
    const Index packs = start_on_16_bytes(a, b) ? n / width : 0;
    const Index threads = static_cast<Index>(gridDim.x) * blockDim.x;
    const Index thread = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    float sum = 0.0f;

    for (Index i = thread; i < packs; i += 2 * threads) {
        const Pack<DTYPE> x0 = load_pack(a, i), y0 = load_pack(b, i);
        Pack<DTYPE> x1 = {}, y1 = {};
        if (i + threads < packs) {
            x1 = load_pack(a, i + threads);
            y1 = load_pack(b, i + threads);
        }
        sum += product(x0, y0) + product(x1, y1);
    }
    // What fills no pack.
    for (Index i = packs * width + thread; i < n; i += threads) {
        sum += float(a[i]) * float(b[i]);
    }

    sum = block_total(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

extern "C" __global__ void round_once(const float* total, DTYPE* output) {
    *output = DTYPE(*total);
}
