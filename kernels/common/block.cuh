// The sum over the threads of a block.
#pragma once

#include "common/warp.cuh"

// Every thread of a one-dimensional block calls this; thread 0 gets the sum of all threads'
// `value`, the others get no meaningful value. blockDim.x is a multiple of 32 up to 1024.
//
// Two warp sums in a row: each warp reduces its own 32 values, then the first warp reduces the warp
// sums, at most 32. That takes one barrier and one word of shared memory per warp.
//
// The shared array is the same one in every call, so a kernel that calls this twice needs a
// __syncthreads() between the calls: without it the second call could overwrite sums that the
// first warp still has to read.
__device__ __forceinline__ float block_sum(float value) {
    __shared__ float warp_sums[32];
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;

    value = warp_sum(value);
    if (lane == 0) warp_sums[warp] = value;
    __syncthreads();

    if (warp == 0) {
        value = lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f;
        value = warp_sum(value);
    }
    return value;
}
