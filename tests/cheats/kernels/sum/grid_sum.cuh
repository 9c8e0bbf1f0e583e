// An honest sum in one launch, which the cheats of this folder fall back on: a block's threads step
// through x, and the last block to finish adds up all partial sums in `partials`. Blocks of whole
// warps, at most 4,096 of them.

#pragma once

// The sum of a block's values, in its thread 0.
static __device__ float block_sum(float mine) {
    __shared__ float of_warp[32];
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
    __syncthreads();  // the values of an earlier call have been read
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return 0.0f;
    mine = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0f;
    for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
    return mine;
}

// The sum of every `stride`-th element of x, by a block's part of the grid.
static __device__ float part_of(const float* x, unsigned int n, unsigned int stride = 1) {
    float mine = 0.0f;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i * stride < n;
         i += gridDim.x * blockDim.x)
        mine += x[i * stride];
    return block_sum(mine);
}

// Whether this is the last block to get here, for all of its threads. The ticket goes back to 0.
static __device__ bool is_last(unsigned int* ticket) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

// Adds up the blocks' partial sums, for thread 0 of the block that calls it.
static __device__ float sum_of(const float* partials) {
    float mine = 0.0f;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x) mine += __ldcg(partials + i);
    return block_sum(mine);
}

// The whole sum: returns true in the one thread of the grid that holds it.
static __device__ bool grid_sum(const float* x, float* partials, unsigned int* ticket,
                                unsigned int n, float& sum) {
    const float mine = part_of(x, n);
    if (threadIdx.x == 0) partials[blockIdx.x] = mine;
    if (!is_last(ticket)) return false;
    sum = sum_of(partials);
    return threadIdx.x == 0;
}
