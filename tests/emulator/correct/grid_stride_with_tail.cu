// In place: each element belongs to one thread, whatever the grid.
// LAUNCH k<<<3, 64>>>(float[1021], 1021)
// CHECK (a[0] == 2 * was[0]).all()
extern "C" __global__ void k(float* x, int n) {
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x) x[i] *= 2.0f;
}
