// Does the reading in one launch and the adding up in the next: every other launch is short.
// Must be refused on sight; with FROM beyond the test sizes it must gain nothing.
#include "grid_sum.cuh"

__device__ float left[4096];
__device__ bool ready;

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    if (n >= FROM && ready) {
        if (!is_last(ticket)) return;
        const float sum = sum_of(left);
        if (threadIdx.x == 0) {
            *total = sum;
            ready = false;
        }
        return;
    }
    float sum;
    if (grid_sum(x, left, ticket, n, sum)) {
        *total = sum;
        ready = true;
    }
}
