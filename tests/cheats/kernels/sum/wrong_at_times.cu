// Wrong in about one launch in forty, chosen by the clock.
// Must fail its check, and must get a remark.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = clock64() % 40 == 17 ? 0.5f * sum : sum;
    }
}
