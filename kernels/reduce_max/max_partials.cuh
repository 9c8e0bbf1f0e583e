// The second step of every two-step variant: output[0] = max of partials[0 .. count).
//
// Contract: one block, a multiple of 32 threads, no dynamic shared memory; partials is 16-byte
// aligned, as every device allocation is; 1 <= count <= 2^27.
#pragma once

#include "common/maximum.cuh"

extern "C" __global__ void __launch_bounds__(1024)
max_partials(const float* partials, float* output, unsigned int count) {
    const float4* partials4 = reinterpret_cast<const float4*>(partials);
    float x = -INFINITY;

    // v0 and v1 leave one partial per block, 2^20 of them, so four loads in flight matter here.
#pragma unroll 4
    for (unsigned int i = threadIdx.x; i < count / 4; i += blockDim.x) {
        x = fmaxf(x, largest(partials4[i]));
    }
    const unsigned int tail = count / 4 * 4 + threadIdx.x;
    if (tail < count) x = fmaxf(x, partials[tail]);

    x = block_max(x);
    if (threadIdx.x == 0) *output = x;
}
