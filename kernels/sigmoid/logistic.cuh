// 1 / (1 + exp(−x)), correct to about two units in the last place.
//
// For large −x the exponential is infinite and the result 0, as it should be; nothing needs to be
// clamped. Halves are computed in float32: for x = −12 the exponential already overflows a half.
// bfloat16 would not overflow, but its eight bits would not survive an addition and a division.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ float logistic(float x) {
    return 1.0f / (1.0f + expf(-x));
}

__device__ __forceinline__ __half logistic(__half x) {
    return __float2half(logistic(__half2float(x)));
}

__device__ __forceinline__ __half2 logistic(__half2 x) {
    const float2 both = __half22float2(x);
    return __floats2half2_rn(logistic(both.x), logistic(both.y));
}

__device__ __forceinline__ __nv_bfloat16 logistic(__nv_bfloat16 x) {
    return __float2bfloat16(logistic(__bfloat162float(x)));
}

__device__ __forceinline__ __nv_bfloat162 logistic(__nv_bfloat162 x) {
    const float2 both = __bfloat1622float2(x);
    return __floats2bfloat162_rn(logistic(both.x), logistic(both.y));
}
