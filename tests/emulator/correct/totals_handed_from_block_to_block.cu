// Each block waits for the total of the one before it, adds its own and passes the sum on.
// LAUNCH k<<<6, 32>>>(float[6]=0, unsigned[6]=0)
// CHECK (a[0] == 32 * np.arange(1, 7)).all()
extern "C" __global__ void k(float* totals, unsigned* ready) {
    unsigned b = blockIdx.x;
    float before = 0;
    if (threadIdx.x == 0) {
        if (b > 0) {
            while (atomicAdd(&ready[b - 1], 0u) == 0) {
            }
            __threadfence();
            before = totals[b - 1];
        }
        totals[b] = before + blockDim.x;
        __threadfence();
        atomicExch(&ready[b], 1u);
    }
}
