// The contents of the output before rows are added to it.
#pragma once

#include <cuda_fp16.h>

// Any grid and block.
__global__ void zero(DTYPE* output, unsigned int n) {
    const unsigned int step = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        output[i] = static_cast<DTYPE>(0.0f);
    }
}
