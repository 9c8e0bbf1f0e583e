// Wrong in about one launch of a hundred, as the clock has it.
// Must fail its check, and be told of.
#include "grid_sum.cuh"

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        unsigned long long now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        *total = now / 32 % 100 == 57 ? sum + 1000.0f : sum;
    }
}
