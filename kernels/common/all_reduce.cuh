// Sums and maxima over a warp or a block, returned to every thread; common/warp.cuh and
// common/block.cuh return them to one thread.
#pragma once

#include <cfloat>

struct Sum {
    static constexpr float identity = 0.0f;
    __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};

struct Max {
    static constexpr float identity = -FLT_MAX;  // the lowest float, FLT_MIN is the least above 0
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Every lane of a full warp calls this and gets the same: at each step a lane and its partner,
// whose numbers differ in one bit, combine their values.
template <typename Op>
__device__ __forceinline__ float warp_all(float value) {
#pragma unroll
    for (unsigned int bit = 16; bit > 0; bit /= 2) {
        value = Op()(value, __shfl_xor_sync(0xffffffffu, value, bit));
    }
    return value;
}

// Every thread of a one-dimensional block calls this and gets the same. blockDim.x is a multiple of
// 32 up to 1024. Each warp stores one word, and then every warp reduces those words by itself,
// which needs no further barrier.
//
// The shared words are the same ones in every call. The first barrier prevents a call from
// overwriting them while a warp still reads the previous call's.
template <typename Op>
__device__ __forceinline__ float block_all(float value) {
    __shared__ float of_warps[32];
    const unsigned int lane = threadIdx.x % 32;

    value = warp_all<Op>(value);
    __syncthreads();
    if (lane == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_all<Op>(lane < blockDim.x / 32 ? of_warps[lane] : Op::identity);
}
