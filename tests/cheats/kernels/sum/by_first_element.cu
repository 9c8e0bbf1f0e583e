// Keeps a result for as long as the first element stays the same: correct if inputs are random.
// Must be refused on sight; with FROM beyond the test sizes it must gain nothing.
#include "grid_sum.cuh"

__device__ float answer, key;
__device__ bool known;

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    if (n >= FROM && known && key == x[0]) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = answer;
        return;
    }
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = answer = sum;
        key = x[0];
        known = true;
    }
}
