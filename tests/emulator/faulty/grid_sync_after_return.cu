// Threads past the end leave before a barrier of the grid.
// LAUNCH k<<<2, 64>>>(float[100], float[100], 100)
#include <cooperative_groups.h>
extern "C" __global__ void k(float* x, float* y, unsigned n) {
    auto grid = cooperative_groups::this_grid();
    unsigned i = grid.thread_rank();
    if (i >= n) return;
    x[i] = i;
    grid.sync();  // FAULT: divergent barrier
    y[i] = x[n - 1 - i];
}
