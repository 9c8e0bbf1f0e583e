// A grid barrier of cooperative groups orders all blocks' accesses before it.
// LAUNCH k<<<4, 64>>>(float[256], float[256])
// CHECK (a[0] == np.roll(np.arange(256)[::-1], -100) + 1).all()
#include <cooperative_groups.h>
extern "C" __global__ void k(float* x, float* y) {
    auto grid = cooperative_groups::this_grid();
    unsigned i = grid.thread_rank(), n = grid.size();
    x[i] = i;
    grid.sync();
    y[i] = x[n - 1 - i];
    grid.sync();
    x[i] = y[(i + 100) % n] + 1;
}
