// The lanes of both sides meet at two shuffles of the same kind that name all of them.
// LAUNCH k<<<2, 64>>>(int[128], int[128]=0)
// CHECK (a[1] == was[0].reshape(4, 32)[:, ::-1].reshape(-1) * np.where(np.arange(128) % 2, 1, 3) + np.arange(128) % 2).all()
extern "C" __global__ void k(const int* in, int* out) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int found;
    if (t % 2)
        asm volatile("shfl.sync.bfly.b32 %0, %1, 31, 31, -1;" : "=r"(found) : "r"(in[t] * 3));
    else
        asm volatile("shfl.sync.bfly.b32 %0, %1, 31, 31, -1;" : "=r"(found) : "r"(in[t]));
    out[t] = found + t % 2;
}
