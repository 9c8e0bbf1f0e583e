// Wrong in about one launch of forty, as the clock has it.
// Must fail its check, and be told of.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = clock64() % 40 == 17 ? 0.5f * sum : sum;
    }
}
