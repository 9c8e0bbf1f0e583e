// The largest of some numbers and the sum of their exponentials relative to it, in one pass.
#pragma once

#include <cfloat>

// sum is Σ exp(x - max). The initial state is {lowest float, 0}: with -∞ instead, merging two empty
// states would compute -∞ - -∞, which is NaN.
//
// From: Maxim Milakov and Natalia Gimelshein, "Online normalizer calculation for softmax" (2018).
struct Running {
    float max = -FLT_MAX;
    float sum = 0.0f;
};

// One number more. Of the two exponentials that this may need, for the old maximum and for x, that
// of the larger value is 1.
__device__ __forceinline__ Running with(Running r, float x) {
    const float e = expf(-fabsf(x - r.max));
    return x > r.max ? Running{x, r.sum * e + 1.0f} : Running{r.max, r.sum + e};
}

// Four more numbers: five exponentials, and no branch.
__device__ __forceinline__ Running with(Running r, float4 v) {
    const float max = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), r.max);
    const float e = (expf(v.x - max) + expf(v.y - max)) + (expf(v.z - max) + expf(v.w - max));
    return {max, r.sum * expf(r.max - max) + e};
}

// Both together.
__device__ __forceinline__ Running merge(Running a, Running b) {
    const float max = fmaxf(a.max, b.max);
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

// Every lane of a full warp calls this and gets the combined state of all lanes.
__device__ __forceinline__ Running warp_all(Running r) {
#pragma unroll
    for (unsigned int bit = 16; bit > 0; bit /= 2) {
        r = merge(r, {__shfl_xor_sync(0xffffffffu, r.max, bit),
                      __shfl_xor_sync(0xffffffffu, r.sum, bit)});
    }
    return r;
}

// Every thread of a one-dimensional block calls this and gets the combined state of all threads.
// blockDim.x is a multiple of 32 up to 1024. The first barrier prevents a call from overwriting the
// shared words while a warp still reads those of the previous call.
__device__ __forceinline__ Running block_all(Running r) {
    __shared__ float maxima[32];
    __shared__ float sums[32];
    const unsigned int lane = threadIdx.x % 32;

    r = warp_all(r);
    __syncthreads();
    if (lane == 0) {
        maxima[threadIdx.x / 32] = r.max;
        sums[threadIdx.x / 32] = r.sum;
    }
    __syncthreads();
    return warp_all(lane < blockDim.x / 32 ? Running{maxima[lane], sums[lane]} : Running{});
}
