// The second and third steps of a three-step scan: the sum before each block, and its addition.
//
// Step 1, of each variant: a block scans its own elements and stores their sum in sums[block].
#pragma once

#include "scan/warp_scan.cuh"

// sums[b] becomes the sum of all sums before it, b < count. One block, a multiple of 32 threads up
// to 1024, goes through them in tiles and carries the total along.
extern "C" __global__ void scan_sums(float* sums, unsigned int count) {
    float carry = 0.0f;
    for (unsigned int first = 0; first < count; first += blockDim.x) {
        const unsigned int i = first + threadIdx.x;
        const float value = i < count ? sums[i] : 0.0f;
        const float upto = warp_scan(value);
        const float warp_sum = __shfl_sync(0xffffffffu, upto, 31);
        // The sum before this lane in its warp, shuffled rather than computed as upto - value.
        float below = __shfl_up_sync(0xffffffffu, upto, 1);
        if (threadIdx.x % 32 == 0) below = 0.0f;
        float total;
        const float before = before_warp(warp_sum, total);
        if (i < count) sums[i] = carry + (before + below);
        carry += total;
    }
}

// The block adds the sum before it to its `elements` elements.
extern "C" __global__ void add_offsets(float* output, const float* sums, unsigned int elements,
                                       unsigned int n) {
    const float before = sums[blockIdx.x];
    const unsigned int first = blockIdx.x * elements;
    const unsigned int end = n - first < elements ? n : first + elements;
    for (unsigned int i = first + threadIdx.x; i < end; i += blockDim.x) output[i] += before;
}
