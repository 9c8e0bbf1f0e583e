// A warp scans consecutive floats in rows of 128, with 16-byte accesses: 4 ROWS floats per lane.
#pragma once

#include "scan/warp_scan.cuh"

constexpr unsigned int ROW = 32 * 4;  // floats in a row of the warp

// The index of the lane's float4 in a row, for the tile-th 4 ROWS blockDim.x elements.
template <unsigned int ROWS>
__device__ __forceinline__ unsigned int element(unsigned int tile, unsigned int row) {
    return tile * (4 * ROWS * blockDim.x) + threadIdx.x / 32 * (ROWS * ROW) + row * ROW +
           threadIdx.x % 32 * 4;
}

// The lane's floats, with zeros past n. All loads are issued before any is waited for.
template <unsigned int ROWS>
__device__ __forceinline__ void load_tile(const float* input, unsigned int n, unsigned int tile,
                                          float4 (&v)[ROWS]) {
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) {
        const unsigned int i = element<ROWS>(tile, row);
        if (i + 3 < n) {
            v[row] = *reinterpret_cast<const float4*>(input + i);
        } else {
            v[row].x = i < n ? input[i] : 0.0f;
            v[row].y = i + 1 < n ? input[i + 1] : 0.0f;
            v[row].z = i + 2 < n ? input[i + 2] : 0.0f;
            v[row].w = 0.0f;
        }
    }
}

__device__ __forceinline__ void add(float4& v, float x) {
    v = make_float4(v.x + x, v.y + x, v.z + x, v.w + x);
}

// Replaces each float by the sum up to it within the warp. Returns the sum of all of them.
template <unsigned int ROWS>
__device__ __forceinline__ float scan_tile(float4 (&v)[ROWS]) {
    float carry = 0.0f;  // of the rows before
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) {
        v[row].y += v[row].x;
        v[row].z += v[row].y;
        v[row].w += v[row].z;
        const float upto = warp_scan(v[row].w);
        float below = __shfl_up_sync(0xffffffffu, upto, 1);
        if (threadIdx.x % 32 == 0) below = 0.0f;
        add(v[row], carry + below);
        carry += __shfl_sync(0xffffffffu, upto, 31);
    }
    return carry;
}

// Writes the lane's floats with `before` added.
template <unsigned int ROWS>
__device__ __forceinline__ void store_tile(float* output, unsigned int n, unsigned int tile,
                                           float4 (&v)[ROWS], float before) {
#pragma unroll
    for (unsigned int row = 0; row < ROWS; row++) {
        const unsigned int i = element<ROWS>(tile, row);
        add(v[row], before);
        if (i + 3 < n) {
            *reinterpret_cast<float4*>(output + i) = v[row];
        } else {
            if (i < n) output[i] = v[row].x;
            if (i + 1 < n) output[i + 1] = v[row].y;
            if (i + 2 < n) output[i + 2] = v[row].z;
        }
    }
}
