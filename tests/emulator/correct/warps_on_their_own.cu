// Every warp works in its own rows with __syncwarp() only; the block never waits.
// LAUNCH k<<<2, 96>>>(int[192], int[192])
// CHECK (a[1] == was[0].reshape(6, 32)[:, ::-1].reshape(-1)).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[3][32];
    unsigned w = threadIdx.x / 32, l = threadIdx.x % 32, i = blockIdx.x * 96 + threadIdx.x;
    s[w][l] = in[i];
    __syncwarp();
    out[i] = s[w][31 - l];
}
