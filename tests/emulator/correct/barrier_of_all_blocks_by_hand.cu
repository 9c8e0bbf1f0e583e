// A barrier of all blocks without cooperative groups: a counter, and a volatile load until all are there.
// LAUNCH k<<<6, 64>>>(float[384], float[384]=0, unsigned[1]=0, 3)
// CHECK (a[0] == np.roll(was[0], -3 * (100 + 33)) + 6).all()
__device__ void all_blocks_meet(unsigned* arrived, unsigned goal) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < goal) {
        }
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void k(float* x, float* y, unsigned* arrived, int rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, goal = 0;
    for (int round = 0; round < rounds; round++) {
        y[i] = x[(i + 100) % n] + 1;
        all_blocks_meet(arrived, goal += gridDim.x);
        x[i] = y[(i + 33) % n] + 1;
        all_blocks_meet(arrived, goal += gridDim.x);
    }
}
