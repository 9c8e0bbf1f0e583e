// Honest, and looks like a cheat: a ticket in __device__ memory that runs on from launch to launch.
// No answer depends on it, so it gets a remark and is not refused.
#include "grid_sum.cuh"

__device__ unsigned int tickets;

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    __shared__ bool last;
    const float mine = part_of(x, n);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(&tickets, 1) % gridDim.x == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    const float sum = sum_of(partials);
    if (threadIdx.x == 0) *total = sum;
}
