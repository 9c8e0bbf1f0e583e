// One warp waits for another: data, fence, flag on one side; flag, fence, data on the other.
// LAUNCH k<<<2, 64>>>(int[64])
// CHECK (a[0] == np.tile(np.arange(32, 64), 2)).all()
extern "C" __global__ void k(int* out) {
    __shared__ int data[32];
    __shared__ volatile int flag;
    unsigned t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    if (t >= 32) {
        data[t - 32] = t;
        __threadfence_block();
        __syncwarp();
        if (t == 32) flag = 1;
    } else {
        while (flag == 0) {
        }
        __threadfence_block();
        out[blockIdx.x * 32 + t] = data[t];
    }
}
