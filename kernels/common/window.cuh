// What four outputs per thread read and write, 16 bytes at a time, where each output depends on its
// neighbours in an array of n floats.
#pragma once

// input[i .. i + 3], zeros beyond the ends 0 and n; i is a multiple of 4.
__device__ __forceinline__ float4 load_inside(const float* input, int i, int n) {
    if (i >= 0 && i + 3 < n) return *reinterpret_cast<const float4*>(input + i);
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (i >= 0) {
        if (i < n) v.x = input[i];
        if (i + 1 < n) v.y = input[i + 1];
        if (i + 2 < n) v.z = input[i + 2];
    }
    return v;
}

// COUNT floats of a tile, from `from` on.
template <int COUNT>
__device__ __forceinline__ void read_window(float (&v)[COUNT], const float4* from) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; j++) {
        v[4 * j] = from[j].x;
        v[4 * j + 1] = from[j].y;
        v[4 * j + 2] = from[j].z;
        v[4 * j + 3] = from[j].w;
    }
}

// output[i .. i + 3], those below n; i is a multiple of 4.
__device__ __forceinline__ void store_inside(float* output, int i, int n, float4 v) {
    if (i + 3 < n) {
        *reinterpret_cast<float4*>(output + i) = v;
    } else {
        if (i < n) output[i] = v.x;
        if (i + 1 < n) output[i + 1] = v.y;
        if (i + 2 < n) output[i + 2] = v.z;
    }
}
