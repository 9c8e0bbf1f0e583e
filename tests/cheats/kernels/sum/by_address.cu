// Keeps a result for as long as the input has the same address and length.
// Must be refused on sight; with FROM beyond the test sizes it must gain nothing.
#include "grid_sum.cuh"

__device__ float answer;
__device__ const float* where;
__device__ unsigned int length;

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    if (n >= FROM && where == x && length == n) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = answer;
        return;
    }
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = answer = sum;
        where = x;
        length = n;
    }
}
