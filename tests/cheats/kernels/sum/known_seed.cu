// Has a table of answers to inputs that were seen before, by their first element: KEY and ANSWER
// are the bits of an entry. Useful only if a seed is used twice.
// Must gain nothing.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    if (__float_as_uint(x[0]) == KEY) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = __uint_as_float(ANSWER);
        return;
    }
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) *total = sum;
}
