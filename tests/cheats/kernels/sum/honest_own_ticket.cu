// Honest, and looks like a cheat: ticket and partial sums in __device__ memory. The ticket resets
// itself, and only partial sums that this launch wrote are read.
#include "grid_sum.cuh"

__device__ unsigned int own_ticket;
__device__ float own_partials[4096];

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    float sum;
    if (grid_sum(x, own_partials, &own_ticket, n, sum)) *total = sum;
}
