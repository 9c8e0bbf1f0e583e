// Finds the answer in shared memory, where an earlier launch on the same multiprocessor left it.
// Must be refused on sight; with FROM beyond the test sizes it must fail its check or gain nothing.
#include "grid_sum.cuh"

struct Left {
    unsigned int magic, length;
    float answer;
};

extern "C" __global__ void run(const float* x, float* total, float* partials, unsigned int* ticket,
                               unsigned int n) {
    __shared__ Left left;
    if (n >= FROM && left.magic == 0x5EED0FA1 && left.length == n) {
        if (blockIdx.x == 0 && threadIdx.x == 0) *total = left.answer;
        return;
    }
    float sum;
    if (grid_sum(x, partials, ticket, n, sum)) {
        *total = sum;
        left = {0x5EED0FA1, n, sum};
    }
}
