// Lanes that take part are named by the mask; each half reduces in a branch of its own.
// LAUNCH k<<<2, 64>>>(int[128], int[128])
// CHECK (a[1] == was[0].reshape(8, 16).sum(axis=1).repeat(16)).all()
extern "C" __global__ void k(const int* in, int* out) {
    unsigned lane = threadIdx.x % 32, i = blockIdx.x * 64 + threadIdx.x;
    int x = in[i];
    if (lane < 16) {
        for (int d = 8; d > 0; d /= 2) x += __shfl_xor_sync(0x0000ffffu, x, d);
    } else {
        for (int d = 1; d < 16; d *= 2) x += __shfl_xor_sync(0xffff0000u, x, d);
    }
    out[i] = x;
}
