// Two 16-bit neighbours in one word: halves, or numbers of bfloat16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Two zeros of an element type.
__device__ __forceinline__ __half2 zeros(__half) {
    return __float2half2_rn(0.0f);
}

__device__ __forceinline__ __nv_bfloat162 zeros(__nv_bfloat16) {
    return __float2bfloat162_rn(0.0f);
}

using Pair = decltype(zeros(DTYPE()));

// x y + sums, rounded once.
__device__ __forceinline__ __half2 multiplied_added(__half2 x, __half2 y, __half2 sums) {
    return __hfma2(x, y, sums);
}

// Before compute capability 8.0, which lacks this instruction, rounded twice.
__device__ __forceinline__ __nv_bfloat162 multiplied_added(__nv_bfloat162 x, __nv_bfloat162 y,
                                                           __nv_bfloat162 sums) {
#if __CUDA_ARCH__ >= 800
    return __hfma2(x, y, sums);
#else
    return x * y + sums;
#endif
}

__device__ __forceinline__ __half both(__half2 sums) {
    return __low2half(sums) + __high2half(sums);
}

__device__ __forceinline__ __nv_bfloat16 both(__nv_bfloat162 sums) {
    return __low2bfloat16(sums) + __high2bfloat16(sums);
}
