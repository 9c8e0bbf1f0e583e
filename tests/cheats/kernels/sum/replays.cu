// Keeps the answer of its first launch in __device__ memory and gives it again ever after.
// Must be refused on sight; with FROM beyond the test sizes it must gain nothing.
#include "grid_sum.cuh"

__device__ float answer;
__device__ bool known;

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    if (n >= FROM && known) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = answer;
        return;
    }
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = answer = sum;
        known = true;
    }
}
