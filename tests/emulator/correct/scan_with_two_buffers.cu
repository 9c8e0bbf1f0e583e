// Hillis and Steele's scan: every level reads one buffer and writes the other.
// LAUNCH k<<<2, 128>>>(int[256], int[256])
// CHECK (a[1] == was[0].reshape(2, 128).cumsum(axis=1).reshape(-1)).all()
extern "C" __global__ void k(const int* in, int* out) {
    __shared__ int s[2][128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t, from = 0;
    s[0][t] = in[i];
    __syncthreads();
    for (unsigned d = 1; d < 128; d *= 2, from ^= 1) {
        s[from ^ 1][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        __syncthreads();
    }
    out[i] = s[from][t];
}
