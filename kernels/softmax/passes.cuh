// The two passes of v2, v3 and v4 over the input, with 16-byte accesses.
#pragma once

#include "common/running_softmax.cuh"

// The state of this thread over its blocks' tiles. A tile is 2 * blockDim.x float4, and consecutive
// threads read consecutive float4.
__device__ __forceinline__ Running first_pass(const float* input, unsigned int n) {
    const float4* input4 = reinterpret_cast<const float4*>(input);
    const unsigned int count4 = n / 4;
    const unsigned int step = gridDim.x * (2 * blockDim.x);
    Running r;
    for (unsigned int i = blockIdx.x * (2 * blockDim.x) + threadIdx.x; i < count4; i += step) {
        // Both loads are issued before the first is waited for. A load past the end repeats another
        // one and is not counted.
        const bool two = i + blockDim.x < count4;
        const float4 a = input4[i];
        const float4 b = input4[two ? i + blockDim.x : i];
        r = with(r, a);
        if (two) r = with(r, b);
    }
    // Up to three floats are left over that do not fill a float4.
    if (blockIdx.x == 0 && threadIdx.x < n % 4) r = with(r, input[4 * count4 + threadIdx.x]);
    return r;
}

__device__ __forceinline__ float4 normalised(float4 v, float max, float scale) {
    return make_float4(expf(v.x - max) * scale, expf(v.y - max) * scale, expf(v.z - max) * scale,
                       expf(v.w - max) * scale);
}

__device__ __forceinline__ void second_pass(const float* input, float* output, unsigned int n,
                                            Running r) {
    const float4* input4 = reinterpret_cast<const float4*>(input);
    float4* output4 = reinterpret_cast<float4*>(output);
    const unsigned int count4 = n / 4;
    const float scale = 1.0f / r.sum;
    const unsigned int step = gridDim.x * (2 * blockDim.x);
    for (unsigned int i = blockIdx.x * (2 * blockDim.x) + threadIdx.x; i < count4; i += step) {
        const bool two = i + blockDim.x < count4;
        const float4 a = input4[i];
        const float4 b = input4[two ? i + blockDim.x : i];
        output4[i] = normalised(a, r.max, scale);
        if (two) output4[i + blockDim.x] = normalised(b, r.max, scale);
    }
    const unsigned int left = 4 * count4 + threadIdx.x;
    if (blockIdx.x == 0 && left < n) output[left] = expf(input[left] - r.max) * scale;
}

// All blocks' maxima and sums combined, for every thread of the block.
__device__ __forceinline__ Running over_blocks(const float* maxima, const float* sums) {
    Running r;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        r = merge(r, {maxima[i], sums[i]});
    }
    return block_all(r);
}
