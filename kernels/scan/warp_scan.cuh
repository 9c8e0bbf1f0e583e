// Prefix sums of a warp and of a block, register to register.
#pragma once

// Every lane of a full warp calls this and gets the sum of its own value and those of all lower
// lanes. Each step adds the value of the lane 1, 2, 4 … below, the sum of as many values.
__device__ __forceinline__ float warp_scan(float value) {
    const unsigned int lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned int below = 1; below < 32; below *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, value, below);
        if (lane >= below) value += other;
    }
    return value;
}

// Every thread of a one-dimensional block calls this with the sum of its warp. It gets the sum of
// all warps before its own, and in `total` the sum of the block. blockDim.x is a multiple of 32 up
// to 1024. The first barrier prevents a call from overwriting the shared words while a warp still
// reads those of the previous call.
__device__ __forceinline__ float before_warp(float warp_sum, float& total) {
    __shared__ float sums[32];
    const unsigned int lane = threadIdx.x % 32;
    const unsigned int warp = threadIdx.x / 32;

    __syncthreads();
    if (lane == 0) sums[warp] = warp_sum;
    __syncthreads();
    // Every warp scans the sums, at most 32, by itself: no further barrier.
    const float scanned = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
    total = __shfl_sync(0xffffffffu, scanned, 31);
    const float before = __shfl_sync(0xffffffffu, scanned, warp > 0 ? warp - 1 : 0);
    return warp > 0 ? before : 0.0f;
}
