// The sum over the threads of a block, in the type of the summands.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ __forceinline__ T warp_total(T value) {
#pragma unroll
    for (unsigned int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

// Every thread of a one-dimensional block calls this once; thread 0 gets the sum of all threads'
// `value`. blockDim.x is a multiple of 32 up to 1024. Every addition rounds to T.
template <typename T>
__device__ __forceinline__ T block_total(T value) {
    __shared__ T warp_totals[32];
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;

    value = warp_total(value);
    if (lane == 0) warp_totals[warp] = value;
    __syncthreads();

    if (warp == 0) value = warp_total(lane < blockDim.x / 32 ? warp_totals[lane] : T(0.0f));
    return value;
}
