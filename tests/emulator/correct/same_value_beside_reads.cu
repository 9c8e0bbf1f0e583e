// Threads set words that are set already, in shared and in global memory, while others read them.
// LAUNCH k<<<4, 64>>>(int[2]=7, int[256])
// CHECK (a[1] == np.tile(np.where(np.arange(64) % 2, 9, 16), 4)).all()
extern "C" __global__ void k(int* seven, int* out) {
    __shared__ int nine[2];
    unsigned t = threadIdx.x, own = blockIdx.x % 2;
    if (t < 2) nine[t] = 9;
    __syncthreads();
    if (t % 2) {
        seven[0] = 7;
        out[blockIdx.x * 64 + t] = nine[own];
    } else {
        nine[own] = 9;
        out[blockIdx.x * 64 + t] = seven[0] + 9;
    }
}
