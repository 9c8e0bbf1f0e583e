// Each half of a warp synchronises itself, with a mask of its own.
// LAUNCH k<<<2, 32>>>(int[64], int[64])
// CHECK (a[1] == was[0].reshape(4, 16)[:, ::-1].reshape(-1)).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[32];
    unsigned t = threadIdx.x, i = blockIdx.x * 32 + t;
    unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
    s[t] = in[i];
    __syncwarp(mask);
    out[i] = s[t ^ 15];
}
