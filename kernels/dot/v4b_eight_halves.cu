// output[0] = sum of a[i] * b[i], i < n, float16, summed in float32
//
// Idea: 16 bytes in one load, which are eight halves, and two loads of each input in flight before
// the first is used: 128 KiB for the 2048 threads of an SM, as in v2a. Elements that do not fill a
// pack, or all if an array is not aligned to 16 bytes, are handled one by one.
//
// Contract: any 1 <= n <= 2^31, a block of 32 to 1024 threads, a multiple of 32, no dynamic shared
// memory. Any grid is correct. a and b may start anywhere. zero and round_once are one thread each,
// launched before and after.
//
// From: Vasily Volkov, "Better Performance at Lower Occupancy" (GTC 2010).
//
// Measured: H200, n = 2²⁸: float16 1.20× v3b.
#include "common/pack.cuh"
#include "dot/block_total.cuh"

__device__ __forceinline__ float product(const Pack<__half>& x, const Pack<__half>& y) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < Pack<__half>::width; j++) {
        sum += __half2float(x.value[j]) * __half2float(y.value[j]);
    }
    return sum;
}

extern "C" __global__ void zero(float* total) {
    *total = 0.0f;
}

extern "C" __global__ void dot(const __half* a, const __half* b, float* total, unsigned int n) {
    constexpr unsigned int width = Pack<__half>::width;
    const unsigned int packs = start_on_16_bytes(a, b) ? n / width : 0;
    const unsigned int threads = gridDim.x * blockDim.x;
    const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;

    for (unsigned int i = thread; i < packs; i += 2 * threads) {
        const Pack<__half> x0 = load_pack(a, i), y0 = load_pack(b, i);
        Pack<__half> x1 = {}, y1 = {};
        if (i + threads < packs) {
            x1 = load_pack(a, i + threads);
            y1 = load_pack(b, i + threads);
        }
        sum += product(x0, y0) + product(x1, y1);
    }
    // What fills no pack.
    for (unsigned int i = packs * width + thread; i < n; i += threads) {
        sum += __half2float(a[i]) * __half2float(b[i]);
    }

    sum = block_total(sum);
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

extern "C" __global__ void round_once(const float* total, __half* output) {
    *output = __float2half(*total);
}
