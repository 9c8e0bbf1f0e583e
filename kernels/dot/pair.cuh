// Two 16-bit neighbours in one word: halves, or numbers of bfloat16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __half2 pair_of(__half);
__device__ __nv_bfloat162 pair_of(__nv_bfloat16);
using Pair = decltype(pair_of(DTYPE()));

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
