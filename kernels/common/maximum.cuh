// The largest of many floats. The identity is −∞: FLT_MIN is the smallest positive float; with it,
// or with 0, the maximum of negative numbers would be wrong.
#pragma once

#include <cmath>

#include "common/all_reduce.cuh"

__device__ __forceinline__ float largest(float4 v) {
    return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w));
}

// Every thread of a one-dimensional block calls this; every thread of the first warp gets the
// largest `value`. blockDim.x is a multiple of 32 up to 1024. A kernel that calls this twice needs
// a __syncthreads() between the calls, because both use the same shared array.
__device__ __forceinline__ float block_max(float value) {
    __shared__ float warp_maxima[32];
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;

    value = warp_all<Max>(value);
    if (lane == 0) warp_maxima[warp] = value;
    __syncthreads();

    if (warp == 0) value = warp_all<Max>(lane < blockDim.x / 32 ? warp_maxima[lane] : -INFINITY);
    return value;
}
