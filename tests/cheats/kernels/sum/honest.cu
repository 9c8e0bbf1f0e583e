// Honest: the baseline. The last block is found by a ticket in a zeroed buffer.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) *total = sum;
}
