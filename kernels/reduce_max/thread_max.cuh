// The result of a thread in v3 and the variants built on it: the largest of its share of the input.
#pragma once

#include "common/maximum.cuh"

// values4[i], or −∞ if i >= count. The guard is on the address, so nothing is read past the end.
__device__ __forceinline__ float4 load_or_lowest(const float4* values4, unsigned int i,
                                                 unsigned int count) {
    return i < count ? values4[i] : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
}

// The blocks take tiles of 4 * blockDim.x float4 in turn. The four loads of a tile are issued
// before the first is waited for, and consecutive threads read consecutive float4 in each.
__device__ __forceinline__ float thread_max(const float* values, unsigned int n) {
    const float4* values4 = reinterpret_cast<const float4*>(values);
    const unsigned int count4 = n / 4;
    const unsigned int threads = blockDim.x;
    const unsigned int tile = 4 * threads;
    float x = -INFINITY;

    for (unsigned int i = blockIdx.x * tile + threadIdx.x; i < count4; i += gridDim.x * tile) {
        const float4 a = values4[i];
        const float4 b = load_or_lowest(values4, i + threads, count4);
        const float4 c = load_or_lowest(values4, i + 2 * threads, count4);
        const float4 d = load_or_lowest(values4, i + 3 * threads, count4);
        x = fmaxf(x, fmaxf(fmaxf(largest(a), largest(b)), fmaxf(largest(c), largest(d))));
    }
    // Up to three floats are left over that do not fill a float4.
    const unsigned int tail = 4 * count4 + threadIdx.x;
    if (blockIdx.x == 0 && tail < n) x = fmaxf(x, values[tail]);
    return x;
}
