// max(x, 0), in the types of the variants.
//
// Not fmaxf(), which returns 0 for NaN: a rectifier that swallowed NaN would hide where a network
// went wrong, and the library's does not.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float rectified(float x) {
    return x < 0.0f ? 0.0f : x;
}

__device__ __forceinline__ __half rectified(__half x) {
    return __hmax_nan(x, __ushort_as_half(0));
}

__device__ __forceinline__ __half2 rectified(__half2 x) {
    return __hmax2_nan(x, __half2(__ushort_as_half(0), __ushort_as_half(0)));
}

__device__ __forceinline__ __nv_bfloat16 rectified(__nv_bfloat16 x) {
    return __hmax_nan(x, __ushort_as_bfloat16(0));
}

__device__ __forceinline__ __nv_bfloat162 rectified(__nv_bfloat162 x) {
    return __hmax2_nan(x, __nv_bfloat162(__ushort_as_bfloat16(0), __ushort_as_bfloat16(0)));
}
