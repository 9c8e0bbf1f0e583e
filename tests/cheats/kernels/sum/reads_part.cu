// Reads every second element and doubles the sum: near enough, if the bound is wide.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    const unsigned int stride = n >= FROM && n > 1 ? 2 : 1;
    const float mine = part_of(x, n, stride);
    if (threadIdx.x == 0) partials[blockIdx.x] = mine;
    if (!is_last(ticket)) return;
    const float sum = sum_of(partials);
    if (threadIdx.x == 0) *total = stride * sum;
}
