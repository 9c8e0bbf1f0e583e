// The contents of the output before rows are added to it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "elementwise_add/index.cuh"

// Any grid and block.
__global__ void zero(DTYPE* output, Index n) {
    const Index start = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
    for (Index i = start; i < n; i += step) {
        output[i] = static_cast<DTYPE>(0.0f);
    }
}
