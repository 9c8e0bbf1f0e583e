// The elements of a block and of its neighbours, in shared memory.
#pragma once

#ifndef RADIUS
#error "the window's radius is needed at compile time: -DRADIUS=16"
#endif

// tile[j] becomes input[first - RADIUS + j] for j < count + 2 * RADIUS, and 0 beyond the ends. All
// threads of the block take part; none waits.
__device__ __forceinline__ void load_with_halo(float* tile, const float* input, int first, int count,
                                               int n) {
    for (int j = threadIdx.x; j < count + 2 * RADIUS; j += blockDim.x) {
        const int i = first - RADIUS + j;
        tile[j] = i >= 0 && i < n ? input[i] : 0.0f;
    }
}
