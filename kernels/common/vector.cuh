// Helpers for 128-bit accesses: four floats move in one instruction.
#pragma once

// The sum of the four floats, as a tree of depth two.
__device__ __forceinline__ float sum(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

// input[i], or zeros if i >= count. The guard is on the address, so nothing is read past the end.
__device__ __forceinline__ float4 load_or_zero(const float4* input, unsigned int i,
                                               unsigned int count) {
    return i < count ? input[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}
