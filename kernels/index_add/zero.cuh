// The contents of the output before rows are added to it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Any grid and block.
__global__ void zero(DTYPE* output, size_t n) {
    const size_t start = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = start; i < n; i += step) {
        output[i] = static_cast<DTYPE>(0.0f);
    }
}
