// A producer and a consumer, of two warps each, synchronise at barriers with a number and a count.
// LAUNCH k<<<2, 192>>>(int[128], int[128])
// CHECK (a[1] == was[0].reshape(2, 64)[:, ::-1].reshape(-1) + 1).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    if (t < 64) {
        s[t] = in[blockIdx.x * 64 + t] + 1;
        asm volatile("bar.sync 1, 128;" ::: "memory");
    } else if (t < 128) {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[blockIdx.x * 64 + t - 64] = s[127 - t];
    }
}
